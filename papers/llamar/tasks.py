"""Our own tasks of LLaMAR's four types, their checklists, and the command that builds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.episodes.generator import GeneratorTools, task_generator
from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Recipe
from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Predicate, Proposition, asked_open, asked_state
from planner.houses.generator import generate_house
from planner.world.catalogue import default_catalogue, sliced_from
from planner.world.episode import Act, AgentPlacement, Checklist, Episode, Subtask
from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.house import EntityName, House
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.state import chain_of
from planner.world.states import skills_that_make
from planner.world.vocabulary import AgentKind, Relation

# Derives LLaMAR's checklist of an episode from its goal and start (LLAMAR-D45).
#
# A placement is the way to the thing, taking it, the way to the place with it, and putting it
# there; a state is the way and the act. Closed furniture that a thing starts or ends in has to be
# opened.

# The acts that make a state so.
_ACT_OF_STATE: Mapping[tuple[str, bool], Act] = {
    ("clean", True): Act.CLEAN,
    ("powered_on", True): Act.TOGGLE_ON,
    ("powered_on", False): Act.TOGGLE_OFF,
    ("sliced", True): Act.SLICE,
}
_PLACING = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE})


def with_own_checklist(episode: Episode, house: House, ambiguity: int) -> Episode:
    """The episode with the checklist of its goal.

    Raises:
        PlannerError: if it has no goal, or one that LLaMAR's acts cannot bring about.
    """
    found = _Deriving(episode, house)
    checklist = {
        "ambiguity": ambiguity,
        "subtasks": tuple(str(subtask) for subtask in found.subtasks()),
        "targets": found.targets(),
    }
    return episode.model_copy(update={"checklist": Checklist.model_validate(checklist)})


class _Deriving:
    """The checklist of one episode."""

    def __init__(self, episode: Episode, house: House) -> None:
        if episode.evaluation is None:
            raise PlannerError(f"{episode.episode_id}: a checklist needs an evaluation")
        self._title = episode.episode_id
        self._evaluation = read_evaluation(episode.evaluation, episode.episode_id)
        self._start = start_entities(episode, house, default_catalogue())

    def subtasks(self) -> tuple[Subtask, ...]:
        """Each once, in the order of the goal; openings come first where they are needed."""
        found = (s for p in self._evaluation.propositions for s in self._of(p))
        return tuple(dict.fromkeys(found))

    def targets(self) -> tuple[tuple[str, ...], ...]:
        """The things and places of the goal, each group once; also the tools that it needs."""
        groups: dict[tuple[str, ...], None] = {}
        for proposition in self._evaluation.propositions:
            for name in self._things(proposition):
                groups.setdefault((name,))
            if proposition.predicate in _PLACING:
                groups.setdefault(proposition.lists[1])
        for subtask in self.subtasks():
            if subtask.act is Act.PICK_UP:
                groups.setdefault(subtask.entities)
        return tuple(groups)

    def _of(self, proposition: Proposition) -> Iterator[Subtask]:
        for name in self._things(proposition):
            if proposition.predicate in _PLACING:
                yield from self._transport(name, proposition)
            else:
                yield from self._change(name, proposition.predicate)

    def _placements(self) -> Iterator[Proposition]:
        return (p for p in self._evaluation.propositions if p.predicate in _PLACING)

    def _things(self, proposition: Proposition) -> Sequence[str]:
        """What the proposition is about; slices stand for what they are cut from."""
        if proposition.number != len(proposition.lists[0]):
            reason = "a checklist names its things, and any of several would do"
            raise PlannerError(f"{self._title}: {reason}")
        return tuple(dict.fromkeys(map(self._whole, proposition.lists[0])))

    def _whole(self, name: str) -> str:
        return name if name in self._start else sliced_from(name) or name

    def _transport(self, name: str, proposition: Proposition) -> Iterator[Subtask]:
        places = proposition.lists[1]
        yield from self._out(name)
        yield Subtask(Act.NAVIGATE, (name,))
        yield Subtask(Act.PICK_UP, (name,))
        if proposition.predicate is Predicate.IS_INSIDE and all(map(self._is_shut, places)):
            yield Subtask(Act.OPEN, places)
        yield Subtask(Act.NAVIGATE, places, (name,))
        yield Subtask(Act.PUT, places, (name,))

    def _change(self, name: str, predicate: str) -> Iterator[Subtask]:
        yield from self._out(name)
        opens = asked_open(predicate)
        if opens is not None:
            # Whoever brings something there has gone there already.
            if not any(name in p.lists[1] for p in self._placements()):
                yield Subtask(Act.NAVIGATE, (name,))
            yield Subtask(Act.OPEN if opens else Act.CLOSE, (name,))
            return
        asked = asked_state(predicate)
        act = None if asked is None else _ACT_OF_STATE.get(asked)
        if asked is None or act is None:
            raise PlannerError(f"{self._title}: no act of LLaMAR brings about {predicate}")
        if self._holds(name, asked):
            return
        yield from self._tools(asked)
        yield Subtask(Act.NAVIGATE, (name,))
        yield Subtask(act, (name,))

    def _tools(self, asked: tuple[str, bool]) -> Iterator[Subtask]:
        """What has to be in the hand, such as a knife."""
        for skill in skills_that_make(asked[0], value=asked[1]):
            if skill.needs.hand is None:
                continue
            fit = tuple(
                name
                for name, entity in self._start.items()
                if entity.class_name in skill.needs.hand.classes
            )
            if not fit:
                raise PlannerError(f"{self._title}: there is no {skill.needs.hand.what}")
            yield Subtask(Act.NAVIGATE, fit)
            yield Subtask(Act.PICK_UP, fit)

    def _out(self, name: str) -> Iterator[Subtask]:
        """Opening what the thing is shut in."""
        for entity in chain_of(self._start, name):
            if entity.relation is Relation.WITHIN and self._is_shut(entity.parent or ""):
                yield Subtask(Act.OPEN, (entity.parent or "",))

    def _is_shut(self, name: str) -> bool:
        entity = self._start.get(name)
        return entity is not None and entity.openness == 0.0

    def _holds(self, name: str, asked: tuple[str, bool]) -> bool:
        entity = self._start.get(name)
        known = entity.states if entity is not None and entity.states is not None else {}
        return known.get(asked[0]) is asked[1]


# As in most of the paper's tables; `planner bench --agents` sets another number.
TEAM_SIZE = 2


class SingleRoom(FileModel):
    """A house of one room, as AI2-THOR's floor plans are; `required` furniture by class."""

    name: EntityName
    room: str
    seed: Annotated[int, Field(ge=0)]
    required: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    def made(self) -> House:
        """Generates it.

        Raises:
            PlannerError: if no such room was found.
        """
        required = {f"{self.room}_0": self.required} if self.required else None
        return generate_house(
            self.name, self.seed, rooms={self.room: 1}, required=required, objects=0
        )


class TeamTask(Recipe):
    """A task and its houses.

    Attributes:
        ambiguity: LLaMAR's type; see `planner.world.episode.Checklist`.
        team: the agents, all alike; people where states have to change, which robots cannot do.
        houses: single rooms and shipped houses.
    """

    ambiguity: Literal[1, 2, 3, 4]
    team: AgentKind = AgentKind.ROBOT
    house: str = ""
    houses: Annotated[tuple[str, ...], Field(min_length=2)]

    def recipes(self) -> Iterator[Recipe]:
        """The recipe for each house; names sort by place first, so that a part has all types."""
        own = {"ambiguity", "team", "houses", "house", "name"}
        common = self.model_dump(exclude=own)
        for place, house in enumerate(self.houses):
            name = f"place_{place}_type_{self.ambiguity}_{self.name}"
            yield Recipe.model_validate({**common, "name": name, "house": house})


class TeamTasks(FileModel):
    """The file."""

    version: Literal[1]
    rooms: tuple[SingleRoom, ...]
    tasks: tuple[TeamTask, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> TeamTasks:
        for names in ([room.name for room in self.rooms], [task.name for task in self.tasks]):
            twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
            if twice is not None:
                raise ValueError(f"the name {twice!r} is used twice")
        return self

    @cached_property
    def made(self) -> Mapping[str, House]:
        """The single rooms by name."""
        return {room.name: room.made() for room in self.rooms}

    def episodes(self) -> Iterator[Episode]:
        """Each task in each of its houses.

        Raises:
            RecipeError: if one of them cannot be built.
            PlannerError: if a goal has no checklist.
        """
        for task in self.tasks:
            for recipe in task.recipes():
                house = self.made.get(recipe.house) or load_house(recipe.house)
                team = {"agents": equals(task.team)}
                episode = build(recipe, house).episode.model_copy(update=team)
                yield with_own_checklist(episode, house, task.ambiguity)


def equals(kind: AgentKind) -> tuple[AgentPlacement, ...]:
    """A team of agents that are all alike, at random free positions (LLAMAR-D47)."""
    return tuple(AgentPlacement(uid=f"agent_{i}", kind=kind) for i in range(TEAM_SIZE))


def task_file() -> Path:
    """The shipped tasks."""
    return config_dir() / "episodes" / "llamar" / "tasks.yaml"


def read_tasks(path: Path) -> TeamTasks:
    """Reads a file of tasks.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, TeamTasks)


# `planner episodes generate llamar`: builds our tasks in their houses.


def _tasks(file: Path | None, _tools: GeneratorTools) -> tuple[Iterable[Episode], Iterable[House]]:
    tasks = read_tasks(file or task_file())
    return tasks.episodes(), tasks.made.values()


GENERATOR = task_generator("our tasks of LLaMAR's four types, each in its houses", _tasks)
