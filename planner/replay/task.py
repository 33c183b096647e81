"""The episode and house of a bag: the embedded copies, else the shipped ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from planner.replay.bag import WORLD_INFO, Bag
from planner.replay.states import STATES, recorded_states
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import (
    episode_from_json,
    house_from_json,
    load_episode,
    load_shipped_episode,
    load_shipped_house,
)

HOUSE_FILE, EPISODE_FILE = "house.json", "episode.json"


def load_task(bag: Bag, name: str = "") -> tuple[Episode | None, House]:
    """The episode and house of a bag's last run; no episode if it ran none.

    Args:
        bag: has both as texts, or only their names.
        name: of an episode or a file to use instead; "" = the bag's.

    Raises:
        PlannerError: if the bag does not name them, or names something that is not shipped.
    """
    if name:
        return load_episode(name)
    info = bag.world_info
    episode_id, house = (info.episode_id, info.house) if info else _world_of(bag)
    return task_of(bag, episode_id, house) if episode_id else (None, house_of(bag, house))


def house_of(bag: Bag, house: str) -> House:
    """The house of a run without an episode.

    Raises:
        PlannerError: if there is no such house, or it is invalid.
    """
    for house_text, _, source in _carried(bag, "", house):
        carried = house_from_json(house_text, source)
        if carried.name == house:
            return carried
    return load_shipped_house(house)


def task_of(bag: Bag, episode_id: str, house: str) -> tuple[Episode, House]:
    """The episode and house of one of a bag's runs.

    Names in a bag are looked up among shipped files and never used as paths.

    Args:
        bag: has both as texts, or only their names.
        episode_id: as in the run's states.
        house: as in the run's states.

    Raises:
        PlannerError: if there is no such episode or house, or it is invalid.
    """
    if not episode_id:
        raise PlannerError("there is no goal to judge by: the run had no episode")
    for house_text, episode_text, source in _carried(bag, episode_id, house):
        if episode_text:
            episode, carried = episode_from_json(episode_text, house_text, source)
            if (episode.episode_id, carried.name) == (episode_id, house):
                return episode, carried
    try:
        return load_shipped_episode(episode_id)
    except FileError:
        raise
    except PlannerError as error:
        raise PlannerError(f"{error}, and the bag has only its name") from None


def _carried(bag: Bag, episode_id: str, house: str) -> Iterator[tuple[str, str, str]]:
    """Texts of house and episode ("" = none), and where they were found."""
    for info in reversed(bag.world_infos):
        if (info.episode_id, info.house) == (episode_id, house) and info.house_json:
            yield info.house_json, info.episode_json, f"{bag.folder}: {WORLD_INFO}"
    attached = bag.attachments()
    if HOUSE_FILE in attached:
        files = (attached[HOUSE_FILE], attached.get(EPISODE_FILE, b""))
        try:
            house_text, episode_text = (data.decode() for data in files)
        except UnicodeDecodeError as error:
            raise FileError(bag.folder, "attachments", f"are not UTF-8: {error}") from None
        yield house_text, episode_text, f"{bag.folder}: attachments"


def _world_of(bag: Bag) -> tuple[str, str]:
    """Episode and house of the last state of the world."""
    if bag.type_of(STATES) is None:
        raise FileError(bag.folder, "", f"has neither {WORLD_INFO} nor {STATES}: of no known house")
    last = next(iter(deque(recorded_states(bag), maxlen=1)), None)
    if last is None:
        raise FileError(bag.folder, STATES, "has no complete state, so the house is unknown")
    return last.state.episode_id, last.state.house
