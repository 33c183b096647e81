"""Loads the house and episode that a user names, at start-up and by /world/load."""

from __future__ import annotations

from dataclasses import dataclass

from planner.world.episode import MAX_AGENTS, MAX_SEED, AgentPlacement, Episode, with_team
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind

# The first agent is the robot and the second its partner (PARTNR's cast); more are robots.
_KINDS = {1: AgentKind.HUMAN}


@dataclass(frozen=True, slots=True)
class Opened:
    """A house, an episode in it, and the seed of all that is random.

    `named`: whether the user named the house or the episode; a robot's house is unknown otherwise.
    """

    house: House
    episode: Episode
    seed: int
    named: bool = True

    @property
    def has_task(self) -> bool:
        """Whether an episode is loaded, and not only a house."""
        return bool(self.episode.episode_id)


def open_world(house: str, episode: str, seed: int, agents: int = 0) -> Opened:
    """Loads a house and an episode by name or path, as in `planner.world.house_checks`.

    Args:
        house: "" takes the episode's.
        episode: "" takes the house as its file describes it, without a task.
        seed: 0 or greater; 0 takes the episode's.
        agents: how many agents; 0 takes the episode's, or one robot in a bare house.

    Raises:
        PlannerError: naming the file, the field and the reason.
    """
    if not 0 <= seed <= MAX_SEED:
        raise PlannerError(f"seed: expected 0 to {MAX_SEED}, got {seed}")
    if not 0 <= agents <= MAX_AGENTS:
        raise PlannerError(f"agents: expected 0 to {MAX_AGENTS}, got {agents}")
    if not house and not episode:
        raise PlannerError("name a house, an episode or both")
    if not episode:
        place = load_house(house)
        return Opened(place, bare_episode(place, agents or 1), seed)
    task, place = load_episode(episode)
    if house and load_house(house).name != place.name:
        raise PlannerError(f"house: episode {task.episode_id} is of {place.name}, not of {house}")
    return Opened(place, _with_agents(task, agents), seed or task.seed)


def default_house() -> str:
    """The house to use if none is named: the first shipped training house.

    Raises:
        PlannerError: if none is shipped.
    """
    shipped = sorted((config_dir() / "houses" / "train").glob("*.json"))
    if not shipped:
        raise PlannerError("no house is shipped in config/houses/train; name one: house:=FILE")
    return str(shipped[0])


def bare_episode(house: House, agents: int) -> Episode:
    """An episode without a task: the house with its objects, and agents at random places.

    Its id is empty, which no episode file's may be.
    """
    cast = tuple(_placement(number) for number in range(agents))
    bare = Episode(
        version=1,
        episode_id="bare",
        house=house.name,
        instruction="",
        agents=cast,
        objects=house.objects,
        people=house.people,
    )
    return bare.model_copy(update={"episode_id": ""})


def _with_agents(episode: Episode, agents: int) -> Episode:
    if episode.checklist is not None:
        return with_team(episode, agents)
    if agents in (0, len(episode.agents)):
        return episode
    extra = (_placement(number) for number in range(len(episode.agents), agents))
    return episode.model_copy(update={"agents": (*episode.agents[:agents], *extra)})


def _placement(number: int) -> AgentPlacement:
    return AgentPlacement(uid=f"agent_{number}", kind=_KINDS.get(number, AgentKind.ROBOT))
