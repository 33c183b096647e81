"""The rooms of a scene, the openings between them, and the names of its bodies."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import shapely
from pydantic import Field, ValidationError
from shapely.geometry import LineString, Point, Polygon
from shapely.ops import nearest_points

from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, from_validation
from planner.world.geometry import FloatArray
from planner.world.house import Door, Room
from sim_bridge.habitat.hssd.dataset import Lenient, read_json
from sim_bridge.habitat.hssd.glb import Number3, Placed

# Names of bodies: habitat-sim's handles, PARTNR's names, and ours.


@dataclass(frozen=True, slots=True)
class PieceName:
    """The names of a piece of furniture.

    Attributes:
        theirs: PARTNR's; keeps the case of the data set's table (`Table_0`).
        ours: PARTNR's, unless that is not a name of ours: names here have no capitals.
    """

    theirs: str
    ours: str


def handles_of(instances: Sequence[Placed]) -> Iterator[tuple[str, Placed]]:
    """Each instance with habitat-sim's handle: the template's name and a number.

    The number is one more than the highest of all earlier handles whose names contain this one's.
    """
    taken: dict[str, int] = {}
    for instance in instances:
        name = instance.name.lower()
        number = max((last + 1 for other, last in taken.items() if name in other), default=0)
        taken[name] = number
        yield f"{instance.name}_:{number:04d}", instance


def piece_names(bodies: Iterable[tuple[str, str]]) -> dict[str, PieceName]:
    """The names of furniture by handle.

    Args:
        bodies: handle and class, in PARTNR's order. PARTNR counts the classes `Table` and `table`
            separately (MetadataInterface.refresh_scene_caches of its code).
    """
    counts: Counter[str] = Counter()
    theirs: dict[str, str] = {}
    for handle, word in bodies:
        theirs[handle] = f"{word}_{counts[word]}"
        counts[word] += 1
    known = {name for name in theirs.values() if slug(name) == name}
    found: dict[str, PieceName] = {}
    for handle, name in theirs.items():
        ours = name
        if slug(name) != name:
            ours = free_name(slug(name.rpartition("_")[0]), known)
            known.add(ours)
        found[handle] = PieceName(name, ours)
    return found


def slug(words: str) -> str:
    """Words as a name of ours: small letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_") or "unnamed"


def free_name(stem: str, taken: Iterable[str] | Mapping[str, object]) -> str:
    """The stem with the first number that is not taken."""
    known = set(taken)
    index = 0
    while f"{stem}_{index}" in known:
        index += 1
    return f"{stem}_{index}"


# Floors that are this close in height are one storey.
_SAME_FLOOR_M = 0.5
# A floor that is less high above another one is beside it, as in a house with half storeys.
_HEADROOM_M = 1.8
_HEIGHTS_M = (1.9, 6.0)
# The class of a whole stage; level surfaces within a bin of heights count together.
_WHOLE, _BIN_M, _LARGE_SHARE = "home", 0.05, 0.3
# Parts of a repaired region that are smaller are not worth a sentence.
_SLIVER = 0.01


class _Region(Lenient):
    name: str = ""
    label: Annotated[str, Field(min_length=1, max_length=100)]
    poly_loop: Annotated[tuple[Number3, ...], Field(min_length=3, max_length=1000)]
    floor_height: Annotated[float, Field(ge=-100, le=100)] = 0.0
    extrusion_height: Annotated[float, Field(ge=-100, le=100)] = 2.6

    @property
    def area_m2(self) -> float:
        return shapely.make_valid(_loop(self)).area


class _Regions(Lenient):
    region_annotations: Annotated[tuple[_Region, ...], Field(max_length=500)] = ()


@dataclass(frozen=True, slots=True)
class Storey:
    """The floors of one height.

    Attributes:
        number: from 0, the lowest one.
        count: how many the scene has.
        is_main: whether it has the most floor.
        floor_m: its height in Habitat's world, which is 0 in ours: that of most of its floor;
            thresholds and carpets do not count.
        above_m: the height of the floor overhead; infinite for the highest.
        heights_m: of all its floors.
    """

    number: int
    count: int
    is_main: bool
    floor_m: float
    above_m: float
    heights_m: frozenset[float]

    def holds(self, low_m: float) -> bool:
        """Whether a body is on it whose lowest point is at this height above its floor."""
        below = self.number == 0 or low_m >= -_SAME_FLOOR_M
        return below and low_m + self.floor_m < self.above_m - _SAME_FLOOR_M


@dataclass(frozen=True, slots=True)
class Regions:
    """The rooms of a storey, and the data set's names for them.

    Attributes:
        rooms: with our names, `<class>_<n>`.
        by_id: our name by the region's id, which evaluations use.
        by_name: our name by PARTNR's, which is derived from the label.
        storey: which is read.
        left_out: a sentence for each region that does not become a room, or only in part.
    """

    rooms: tuple[Room, ...]
    by_id: dict[str, str]
    by_name: dict[str, str]
    storey: Storey
    left_out: tuple[str, ...]

    @property
    def floor_m(self) -> float:
        """The height of the floor in Habitat's world, which is 0 in ours."""
        return self.storey.floor_m


NO_REGIONS = Regions((), {}, {}, Storey(0, 1, True, 0.0, math.inf, frozenset()), ())
"""Before any are known; heights are Habitat's."""


def whole_stage(path: Path, corners: FloatArray, triangles: FloatArray | None) -> Regions:
    """One room of a whole stage, for data sets that say nothing about rooms.

    Args:
        path: the scene's file.
        corners: (8, 3) of the box around the stage, in our axes with Habitat's heights.
        triangles: (n, 3, 3) of its mesh; None = it cannot be read.

    Raises:
        FileError: if the stage has no floor of a room's size.
    """
    floor_m = float(corners[:, 2].min()) if triangles is None else _floor_of(corners, triangles)
    outline = shapely.MultiPoint(corners[:, :2]).convex_hull
    if triangles is not None and len(triangles):
        outline = shapely.MultiPoint(triangles.reshape(-1, 3)[:, :2]).convex_hull
    height = min(max(float(corners[:, 2].max()) - floor_m, _HEIGHTS_M[0]), _HEIGHTS_M[1])
    edge = shapely.get_exterior_ring(outline.simplify(0.01))
    points = tuple((round(x, 4), round(y, 4)) for x, y in list(edge.coords)[:-1]) if edge else ()
    try:
        room = Room(
            name=f"{_WHOLE}_0", class_name=_WHOLE, polygon_m=points, height_m=round(height, 4)
        )
    except ValidationError as error:
        raise from_validation(path, error) from None
    storey = Storey(0, 1, True, floor_m, math.inf, frozenset({floor_m}))
    told = "the data set has no rooms: the whole stage is one"
    return Regions((room,), {}, {}, storey, (told,))


def _floor_of(corners: FloatArray, triangles: FloatArray) -> float:
    """The height of the lowest large surface that faces up, or else of the lowest point."""
    across = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(across, axis=1) / 2
    level = across[:, 2] > 1.8 * areas
    heights = np.round(triangles[level][:, :, 2].mean(axis=1) / _BIN_M).astype(int)
    if not len(heights):
        return float(corners[:, 2].min())
    _, where = np.unique(heights, return_inverse=True)
    sums = np.bincount(where, areas[level])
    large = np.flatnonzero(sums > sums.max() * _LARGE_SHARE)[0]
    inside = triangles[level][where == large][:, :, 2]
    return round(float(np.median(inside)), 4)


def read_regions(path: Path, catalogue: Catalogue, storey: int | None = None) -> Regions:
    """Reads `*.semantic_config.json`.

    Args:
        path: the file.
        catalogue: of the classes; a label that it does not know is a class of its own.
        storey: from 0, the lowest; None = the one with the most floor.

    Raises:
        FileError: if it has no rooms, or no such storey.
    """
    regions = read_json(path, _Regions).region_annotations
    if not regions:
        raise FileError(path, "region_annotations", "there are none: the scene has no rooms")
    storeys = _storeys(regions)
    wanted = [s for s in storeys if (s.is_main if storey is None else s.number == storey)]
    chosen = wanted[0] if wanted else None
    if chosen is None:
        reason = f"there is no storey {storey}: there are {len(storeys)}"
        raise FileError(path, "region_annotations", reason)
    rooms: list[Room] = []
    by_id: dict[str, str] = {}
    by_name: dict[str, str] = {}
    left_out = [_other_storey(s) for s in storeys if s is not chosen]
    for index, region in enumerate(regions):
        partnr_name = free_name(region.label.replace(" ", "_"), by_name)
        by_name[partnr_name] = ""
        if region.floor_height not in chosen.heights_m:
            continue
        class_name = catalogue.room_name(region.label.split("/")[0])
        if class_name is None:
            class_name = slug(region.label)
            class_name = class_name if class_name[0].isalpha() else f"room_{class_name}"
        our_name = free_name(class_name, {room.name for room in rooms})
        try:
            room, repair = _room(region, our_name, class_name)
        except ValidationError as error:
            reason = from_validation(path, error).reason
            left_out.append(f"region {region.label!r} (region_annotations.{index}): {reason}")
            continue
        if repair:
            left_out.append(f"region {region.label!r} (region_annotations.{index}): {repair}")
        rooms.append(room)
        by_name[partnr_name] = our_name
        by_id[region.name or f"_{index}"] = our_name
    if not rooms:
        reason = left_out[-1] if left_out else "no region is a room"
        raise FileError(path, "region_annotations", reason)
    known = {name: room for name, room in by_name.items() if room}
    return Regions(tuple(rooms), by_id, known, chosen, tuple(left_out))


def _storeys(regions: Sequence[_Region]) -> list[Storey]:
    """The storeys, the lowest first."""
    groups: list[list[_Region]] = []
    for region in sorted(regions, key=lambda region: region.floor_height):
        if groups and region.floor_height - groups[-1][0].floor_height <= _SAME_FLOOR_M:
            groups[-1].append(region)
        else:
            groups.append([region])
    floors = [max(group, key=lambda region: region.area_m2).floor_height for group in groups]
    areas = [sum(region.area_m2 for region in group) for group in groups]
    largest = areas.index(max(areas))
    return [
        Storey(
            number,
            len(groups),
            number == largest,
            floor,
            min((other for other in floors if other >= floor + _HEADROOM_M), default=math.inf),
            frozenset(region.floor_height for region in groups[number]),
        )
        for number, floor in enumerate(floors)
    ]


def _other_storey(storey: Storey) -> str:
    return (
        f"storey {storey.number}, with its floor at {storey.floor_m:.2f} m, is a house of its own"
    )


def _loop(region: _Region) -> Polygon:
    return Polygon([(x, -z) for x, _, z in region.poly_loop])


def _room(region: _Region, name: str, class_name: str) -> tuple[Room, str]:
    """The room, and how its outline was repaired; "" if it was not.

    Raises:
        ValidationError: if no room is left.
    """
    height = min(max(region.extrusion_height, _HEIGHTS_M[0]), _HEIGHTS_M[1])
    # Annotators click points twice.
    simpler = _loop(region).simplify(0.001)
    loop, repair = simpler if isinstance(simpler, Polygon) else _loop(region), ""
    if not loop.is_valid:
        whole = shapely.make_valid(loop)
        parts = [part for part in shapely.get_parts(whole) if isinstance(part, Polygon)]
        loop = max(parts, key=lambda part: part.area, default=Polygon())
        loop = Polygon(loop.exterior)
        lost = 1.0 - loop.area / whole.area if whole.area > 0.0 else 1.0
        repair = "its outline crosses itself and was repaired"
        if lost > _SLIVER:
            repair += f"; {lost:.0%} of its floor is left out"
    corners = tuple((round(x, 4), round(y, 4)) for x, y in list(loop.exterior.coords)[:-1])
    room = Room(name=name, class_name=class_name, polygon_m=corners, height_m=round(height, 4))
    return room, repair


# Derives openings between rooms, which the data set does not list, from gaps in its walls.
#
# The stage's mesh is cut at chest height; if a short line from one room to the next meets no wall
# over at least a door's width, there is a passage.

CUT_HEIGHT_M = 1.0
_STEP_M = 0.05
_WALL_M = 0.4
_BEYOND_M = 0.1
_WIDTHS_M = (0.6, 4.0)


def passages(rooms: Sequence[Room], triangles: FloatArray) -> tuple[Door, ...]:
    """The doors of a house.

    Args:
        rooms: of the house.
        triangles: (n, 3, 3) of the stage in `map`.
    """
    walls = shapely.STRtree(_cut(triangles, CUT_HEIGHT_M))
    found: list[Door] = []
    for one, other in itertools.combinations(rooms, 2):
        for start, end in _gaps(one, other, walls):
            width = math.dist(start, end)
            if width < _WIDTHS_M[0]:
                continue
            found.append(
                Door(
                    name=f"door_{len(found)}",
                    rooms=(one.name, other.name),
                    center_m=(round((start[0] + end[0]) / 2, 4), round((start[1] + end[1]) / 2, 4)),
                    yaw_rad=round(math.atan2(end[1] - start[1], end[0] - start[0]), 6),
                    width_m=round(min(width, _WIDTHS_M[1]), 4),
                )
            )
    return tuple(found)


def _cut(triangles: FloatArray, height_m: float) -> list[LineString]:
    """The intersections of triangles with a height, in plan view."""
    low, high = triangles[:, :, 2].min(axis=1), triangles[:, :, 2].max(axis=1)
    lines = []
    for corners in triangles[(low < height_m) & (high > height_m)]:
        points = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            za, zb = corners[a, 2] - height_m, corners[b, 2] - height_m
            if (za < 0) != (zb < 0):
                points.append((corners[a] + (corners[b] - corners[a]) * (za / (za - zb)))[:2])
        if len(points) == 2:
            lines.append(LineString(points))
    return lines


def _gaps(
    one: Room, other: Room, walls: shapely.STRtree
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The stretches of one room's edge from which no wall separates the other room."""
    near = other.shape.buffer(_WALL_M)
    corners = [*one.polygon_m, one.polygon_m[0]]
    for a, b in itertools.pairwise(corners):
        length = math.dist(a, b)
        steps = max(int(length / _STEP_M), 1)
        free: list[tuple[float, float]] = []
        for step in range(steps + 1):
            share = step / steps
            point = (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
            if near.contains(Point(point)) and _passes(point, a, b, other, walls):
                free.append(point)
                continue
            if len(free) > 1:
                yield free[0], free[-1]
            free = []
        if len(free) > 1:
            yield free[0], free[-1]


def _passes(
    point: tuple[float, float],
    a: tuple[float, float],
    b: tuple[float, float],
    other: Room,
    walls: shapely.STRtree,
) -> bool:
    """Whether the straight line through the wall into the other room is free."""
    along = np.array([b[0] - a[0], b[1] - a[1]])
    across = np.array([-along[1], along[0]]) / np.linalg.norm(along)
    target = np.array(nearest_points(Point(point), other.shape)[1].coords[0])
    toward = target - point
    if np.linalg.norm(toward) > 1e-9 and abs(across @ toward) < 0.7 * np.linalg.norm(toward):
        return False
    inside = np.array(point) + across * (abs(across @ toward) + _BEYOND_M)
    if not other.shape.contains(Point(inside)):
        across = -across
        inside = np.array(point) + across * (abs(across @ toward) + _BEYOND_M)
        if not other.shape.contains(Point(inside)):
            return False
    way = LineString([np.array(point) - across * _BEYOND_M, inside])
    return not len(walls.query(way, predicate="intersects"))
