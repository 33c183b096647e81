"""Checks of house and episode files beyond their schemas, and loading with these checks.

Every finding names the field by its path in the file (`furniture.3.x_m`) and gives the reason with
the entity's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import shapely

from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import EPISODE_VERSION, Episode, parse_house, read_episode, refuse_large
from planner.world.errors import FileError, PlannerError, did_you_mean
from planner.world.files import parse_json, parse_model, read_document, reading, upgraded
from planner.world.floor_grid import door_corners
from planner.world.geometry import FloatArray
from planner.world.graph_file import is_graph
from planner.world.graph_house import house_of_document
from planner.world.house import HOUSE_VERSION, Door, Furniture, House
from planner.world.object_checks import (
    Reach,
    furniture_corners,
    object_findings,
    overlapping_pairs,
    people_findings,
    polygons,
    reach_of,
)
from planner.world.share import config_dir
from planner.world.states import default_states

TOLERANCE_M = 0.001
# Pieces of furniture, and things, of a house whose geometry is checked, and of an episode.
MAX_CHECKED = 1_000
# Maximum distance of a door from its wall.
_WALL_TOLERANCE_M = 0.02
# Floor on either side of an opening that must stay clear.
_DOORWAY_M = 0.5
# Of an untrusted name.
_SHOWN_CHARS = 80
# A longer list of names is no help in a message.
_MAX_LISTED = 30
# Points all over a rectangle, in fractions of its size.
_SPREAD = np.array([(x, y) for x in (-0.4, 0.0, 0.4) for y in (-0.4, 0.0, 0.4)])


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: the field's path in the file and the reason."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


def check_house(house: House, catalogue: Catalogue) -> list[Finding]:
    """All problems of a house, in the order of the file; empty for a valid one.

    A scene graph, which has classes of its own and no walls, was checked when it was read.
    """
    if house.graph is not None:
        return []
    if crowded := list(_count_findings(furniture=house.furniture, objects=house.objects)):
        return crowded
    pairs = [
        *_class_findings(house, catalogue),
        *_room_findings(house),
        *_door_findings(house),
        *_furniture_findings(house),
    ]
    if not pairs:
        # With a broken plan these would only repeat earlier findings.
        reach = reach_of(house)
        pairs += [*_reach_findings(house, reach)]
        pairs += [*object_findings(house, house.objects, catalogue, reach)]
        pairs += [*people_findings(house, house.people, house.objects)]
    return [Finding(field, reason) for field, reason in pairs]


def check_episode(
    episode: Episode, house: House, catalogue: Catalogue, reach: Reach | None = None
) -> list[Finding]:
    """All problems of an episode in its house, which itself must be valid.

    `reach` may be passed to avoid recomputing it for many episodes of one house.
    """
    if crowded := list(_count_findings(objects=episode.objects)):
        return crowded
    reach = reach or reach_of(house)
    pairs = [
        *_start_findings(episode, reach),
        *_change_findings(episode, house),
        *object_findings(house, episode.objects, catalogue, reach),
        *people_findings(house, episode.people, episode.objects),
    ]
    return [Finding(field, reason) for field, reason in pairs]


def _count_findings(**entries: Collection[object]) -> Iterator[Finding]:
    """Lists that are too long to be checked: pairs are compared, and ways are searched to each."""
    for field, items in entries.items():
        if len(items) > MAX_CHECKED:
            yield Finding(field, f"has {len(items)} entries, more than {MAX_CHECKED}")


def load_house(path_or_name: Path | str) -> House:
    """Reads and checks a house; an unchanged file is read only once.

    Args:
        path_or_name: a path, or the name of a file in `config/houses/*/`.

    Raises:
        FileError: with file, field and reason of the first finding.
        PlannerError: if no house of that name is shipped.
    """
    path = find_house(path_or_name)
    return _cached_house(path, _modified_ns(path))


def find_house(path_or_name: Path | str) -> Path:
    """The file of a house by its path or the name of a shipped one.

    Raises:
        PlannerError: if no house of that name is shipped.
    """
    return _find(path_or_name, _houses, "house")


def find_house_of(episode: Path, house: str) -> Path:
    """The file of an episode's house.

    Args:
        episode: the episode's file.
        house: its field: a file relative to the episode, or a name, searched for as
            `houses/<name>.json` next to the episode first.

    Raises:
        FileError: if no house of that name is there or shipped.
    """
    if house.endswith(".json"):
        return episode.parent / house
    beside = episode.parent / "houses" / f"{house}.json"
    try:
        return beside if beside.is_file() else find_house(house)
    except (OSError, PlannerError) as error:
        raise FileError(episode, "house", str(error)) from None


def read_house(path: Path) -> House:
    """Reads a house, or a scene graph as one, without `check_house`.

    Raises:
        FileError: if it does not match the schema, or is too large.
    """
    document = read_document(path)
    if is_graph(document):
        house = house_of_document(document, path)
    else:
        house = parse_model(upgraded(document, HOUSE_VERSION, path), House, path)
    refuse_large(house, path)
    return house


def is_house_file(path: Path) -> bool:
    """Whether a file is a house or a scene graph by its content; False if it cannot be read."""
    try:
        document = read_document(path)
    except FileError:
        return False
    return is_graph(document) or (isinstance(document, dict) and "rooms" in document)


def find_episode(path_or_name: Path | str) -> Path:
    """The file of an episode by its path or the name of a shipped one.

    Raises:
        PlannerError: if no episode of that name is shipped.
    """
    return _find(path_or_name, _episodes, "episode")


def load_episode(path_or_name: Path | str) -> tuple[Episode, House]:
    """Reads an episode and its house and checks both.

    Args:
        path_or_name: a path, or the name of a file under `config/episodes/`.

    Raises:
        FileError: with file, field and reason of the first finding.
        PlannerError: if no episode of that name is shipped.
    """
    path = find_episode(path_or_name)
    modified = _modified_ns(path)
    house_path = find_house_of(path, _parsed_episode(path, modified).house)
    return _cached_episode(path, modified, house_path, _modified_ns(house_path))


def load_shipped_episode(name: str) -> tuple[Episode, House]:
    """As `load_episode` for an untrusted name, which is never used as a path.

    Raises:
        PlannerError: if no episode of that name is shipped.
    """
    return load_episode(_shipped(name, _episodes(), "episode"))


def load_shipped_house(name: str) -> House:
    """As `load_house` for an untrusted name, which is never used as a path.

    Raises:
        PlannerError: if no house of that name is shipped.
    """
    return load_house(_shipped(name, _houses(), "house"))


def _houses() -> dict[str, Path]:
    """The files of the shipped houses by name."""
    # Some backends have episodes and houses of their own in their folder.
    own = config_dir().glob("*/episodes/houses/*.json")
    found = [*sorted((config_dir() / "houses").rglob("*.json")), *sorted(own)]
    return {path.stem: path for path in found}


def _episodes() -> dict[str, Path]:
    """The files of the shipped episodes by name."""
    own = config_dir().glob("*/episodes/*.json")
    found = [*sorted((config_dir() / "episodes").rglob("*.json")), *sorted(own)]
    return {path.stem: path for path in found}


def _shipped(name: str, known: Mapping[str, Path], what: str) -> Path:
    if name not in known:
        shown = repr(name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "...")
        raise PlannerError(f"there is no {what} {shown} among those that are shipped")
    return known[name]


@lru_cache(maxsize=8)
def house_from_json(text: str, source: str) -> House:
    """A house from the text of its file, checked as in `load_house`.

    Args:
        text: of the file, untrusted.
        source: its name for errors.

    Raises:
        FileError: with source, field and reason of the first finding.
    """
    house = parse_house(text, source)
    _refuse(source, _unusable(house, default_catalogue()))
    return house


@lru_cache(maxsize=8)
def episode_from_json(text: str, house_text: str, source: str) -> tuple[Episode, House]:
    """An episode and its house from the texts of their files, checked as in `load_episode`.

    Raises:
        FileError: with source, field and reason of the first finding.
    """
    house = house_from_json(house_text, source)
    episode = parse_model(
        upgraded(parse_json(text, source), EPISODE_VERSION, source), Episode, source
    )
    _refuse(source, _unplayable(episode, house, default_catalogue()))
    return episode, house


def _find(path_or_name: Path | str, shipped: Callable[[], Mapping[str, Path]], what: str) -> Path:
    if path_or_name == "":
        raise PlannerError(f"no {what} is named")
    path = Path(path_or_name)
    if isinstance(path_or_name, Path) or path.suffix == ".json" or len(path.parts) != 1:
        return path
    known = shipped()
    if path.name not in known:
        raise PlannerError(f"there is no {what} {path.name!r}{_offered(path.name, known, what)}")
    return known[path.name]


def _offered(name: str, known: Collection[str], what: str) -> str:
    near = did_you_mean(name, known)
    if near or len(known) > _MAX_LISTED:
        return near or f"; `planner {what}s list` shows those that there are"
    return f"; shipped are: {', '.join(known) or 'none'}"


def _modified_ns(path: Path) -> int:
    with reading(path):
        return path.stat().st_mtime_ns


@lru_cache(maxsize=32)
def _cached_house(path: Path, _modified: int) -> House:
    house = read_house(path)
    _refuse(path, _unusable(house, default_catalogue()))
    return house


@lru_cache(maxsize=32)
def _parsed_episode(path: Path, _modified: int) -> Episode:
    try:
        return read_episode(path)
    except FileError:
        if is_house_file(path):
            reason = "is a house, and no episode: it needs an instruction"
            raise FileError(path, "", reason) from None
        raise


@lru_cache(maxsize=32)
def _cached_episode(
    path: Path, modified: int, house_path: Path, house_modified: int
) -> tuple[Episode, House]:
    episode = _parsed_episode(path, modified)
    house = _cached_house(house_path, house_modified)
    _refuse(path, _unplayable(episode, house, default_catalogue()))
    return episode, house


def _unusable(house: House, catalogue: Catalogue) -> list[Finding]:
    """The findings that prevent loading; for a foreign house, only unknown classes."""
    if house.foreign and house.graph is None:
        return [Finding(field, reason) for field, reason in _class_findings(house, catalogue)]
    return check_house(house, catalogue)


def _unplayable(episode: Episode, house: House, catalogue: Catalogue) -> list[Finding]:
    """The same for an episode; in a foreign house, objects lie as its data set says."""
    if house.foreign:
        pairs = [
            *_change_findings(episode, house),
            *people_findings(house, episode.people, episode.objects),
        ]
        return [Finding(field, reason) for field, reason in pairs]
    return check_episode(episode, house, catalogue)


def forget_files() -> None:
    """Frees all cached houses and episodes."""
    for kept in (_cached_house, _parsed_episode, _cached_episode):
        kept.cache_clear()


def _refuse(path: Path | str, findings: list[Finding]) -> None:
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        raise FileError(path, findings[0].field, findings[0].reason + more)


def _start_findings(episode: Episode, reach: Reach) -> Iterator[tuple[str, str]]:
    starts: list[tuple[str, float, float]] = []
    for i, agent in enumerate(episode.agents):
        if agent.start is None:
            continue
        x, y, _ = agent.start
        if reach.gap_m(x, y) > 0:
            yield f"agents.{i}.start", f"{agent.uid} starts at ({x}, {y}), which is not free floor"
        for uid, other_x, other_y in starts:
            if math.hypot(x - other_x, y - other_y) < 2 * reach.radius_m:
                yield f"agents.{i}.start", f"{agent.uid} overlaps {uid}"
        starts.append((agent.uid, x, y))


def _change_findings(episode: Episode, house: House) -> Iterator[tuple[str, str]]:
    for name, change in episode.furniture.items():
        piece = house.furniture_by_name.get(name)
        if piece is None:
            yield f"furniture.{name}", f"{house.name} has no furniture {name!r}"
            continue
        if change.open is not None and not piece.joints:
            yield f"furniture.{name}.open", f"{name} does not open"
        for state in default_states().unfit(change.states, piece.affordances):
            yield f"furniture.{name}.states", f"{name} cannot be {state}"


def _class_findings(house: House, catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    for i, room in enumerate(house.rooms):
        # Rooms of another data set may be of classes of its own.
        if room.class_name not in catalogue.rooms and not house.foreign:
            yield f"rooms.{i}.class_name", f"unknown class of room {room.class_name!r}"
    for i, piece in enumerate(house.furniture):
        if piece.class_name not in catalogue.furniture:
            yield f"furniture.{i}.class_name", f"unknown class of furniture {piece.class_name!r}"


def _room_findings(house: House) -> Iterator[tuple[str, str]]:
    shapes = [room.shape for room in house.rooms]
    inner = shapely.buffer(shapes, -TOLERANCE_M, join_style="mitre")
    for i, j in shapely.STRtree(inner).query(inner, predicate="intersects").T:
        if i < j:
            a, b = house.rooms[i].name, house.rooms[j].name
            yield f"rooms.{j}.polygon_m", f"{b} overlaps {a}"


def _door_findings(house: House) -> Iterator[tuple[str, str]]:
    walls = {
        room.name: shapely.buffer(room.shape.exterior, _WALL_TOLERANCE_M) for room in house.rooms
    }
    for i, door in enumerate(house.doors):
        opening = _opening(door)
        where = f"doors.{i}.center_m"
        if len(set(door.rooms)) != len(door.rooms):
            yield f"doors.{i}.rooms", f"{door.name} joins {door.rooms[0]} to itself"
            continue
        off = [name for name in door.rooms if not walls[name].covers(opening)]
        if off:
            yield where, f"{door.name} is not in a wall of {' and '.join(off)}"
        elif len(door.rooms) == 1:
            behind = [n for n, w in walls.items() if n not in door.rooms and w.covers(opening)]
            if behind:
                yield where, f"{door.name} leads to {behind[0]}, not to the outside"


def _opening(door: Door) -> shapely.LineString:
    dx, dy = np.cos(door.yaw_rad) * door.width_m / 2, np.sin(door.yaw_rad) * door.width_m / 2
    x, y = door.center_m
    return shapely.LineString([(x - dx, y - dy), (x + dx, y + dy)])


def _furniture_findings(house: House) -> Iterator[tuple[str, str]]:
    if not house.furniture:
        return
    corners = furniture_corners(house.furniture, -TOLERANCE_M / 2)
    shapes = polygons(corners)
    rooms = [house.rooms_by_name[piece.room].shape for piece in house.furniture]
    inside = shapely.covers(rooms, shapes)
    for i, piece in enumerate(house.furniture):
        if not inside[i]:
            yield f"furniture.{i}.x_m", f"{piece.name} is not inside {piece.room}"
        if piece.size_m[2] > house.rooms_by_name[piece.room].height_m:
            yield f"furniture.{i}.size_m", f"{piece.name} is higher than {piece.room}"
    for one, two in overlapping_pairs(corners):
        a, b = house.furniture[one].name, house.furniture[two].name
        yield f"furniture.{two}.x_m", f"{b} overlaps {a}"
    if house.doors:
        doorways = shapely.polygons([door_corners(d, 2 * _DOORWAY_M) for d in house.doors])
        for k, d in shapely.STRtree(doorways).query(shapes, predicate="intersects").T:
            piece, door = house.furniture[k], house.doors[d]
            yield f"furniture.{k}.x_m", f"{piece.name} blocks {door.name}"


def _reach_findings(house: House, reach: Reach) -> Iterator[tuple[str, str]]:
    for i, room in enumerate(house.rooms):
        if not reach.enters(room.polygon_m):
            yield f"rooms.{i}", f"{room.name} cannot be reached from the rest of the house"
    unreachable = unreachable_furniture(house, reach)
    for i, piece in enumerate(house.furniture):
        if piece.name in unreachable:
            yield f"furniture.{i}.x_m", unreachable[piece.name]


def unreachable_furniture(house: House, reach: Reach) -> dict[str, str]:
    """Why no agent can put things on it or open it, by the furniture's name."""
    found: dict[str, str] = {}
    for piece in house.furniture:
        for place, points in _touch_points(piece):
            if piece.name not in found and not reach.to_any(points):
                found[piece.name] = f"no agent can get within reach of {piece.name}'s {place}"
    return found


def _touch_points(piece: Furniture) -> Iterator[tuple[str, FloatArray]]:
    """Points in the map, of which an agent must reach at least one, by what they are."""
    c, s = np.cos(piece.yaw_rad), np.sin(piece.yaw_rad)
    turn = np.array([[c, s], [-s, c]])
    origin = np.array([piece.x_m, piece.y_m])
    for surface in piece.surfaces:
        spread = _SPREAD * np.array(surface.size)
        yield surface.name, (spread + surface.center[:2]) @ turn + origin
    for joint in piece.joints:
        yield joint.name, np.array([joint.handle[:2]]) @ turn + origin
    if not piece.surfaces and not piece.joints:
        yield "body", (_SPREAD * np.array(piece.size_m[:2])) @ turn + origin
