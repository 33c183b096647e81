"""Checks of objects: what rests on what, stands apart, and can be walked to and reached."""

from __future__ import annotations

import math
import re
import weakref
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from planner.world.agents import default_bodies
from planner.world.catalogue import Catalogue
from planner.world.floor_grid import FloorGrid, door_corners
from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.person import GOES_TO, PersonPlacement, person_name
from planner.world.receptacle import containment_cycle, part_of, shape_of
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

# Footprints of rotated boxes as shapely polygons, vectorised.

_SIGNS = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])


def turned_corners(centers_m: FloatArray, sizes_m: FloatArray, yaws_rad: FloatArray) -> FloatArray:
    """(n, 4, 2) corners of rectangles given by (n, 2) middles and sizes and (n,) yaws."""
    local = _SIGNS[None] * (sizes_m / 2)[:, None]
    c, s = np.cos(yaws_rad)[:, None], np.sin(yaws_rad)[:, None]
    x = local[..., 0] * c - local[..., 1] * s
    y = local[..., 0] * s + local[..., 1] * c
    corners: FloatArray = np.stack([x, y], axis=-1) + centers_m[:, None]
    return corners


def furniture_corners(pieces: Sequence[Furniture], grown_m: float = 0.0) -> FloatArray:
    """(n, 4, 2) floor corners of furniture in the map, each side moved out by `grown_m`."""
    rows = np.array(
        [(p.x_m, p.y_m, p.size_m[0], p.size_m[1], p.yaw_rad) for p in pieces], dtype=np.float64
    ).reshape(-1, 5)
    return turned_corners(rows[:, :2], rows[:, 2:4] + 2 * grown_m, rows[:, 4])


def object_corners(things: Sequence[ObjectPlacement], grown_m: float = 0.0) -> FloatArray:
    """(n, 4, 2) corners of the undersides of things in the map."""
    rows = np.array(
        [(t.pose[0], t.pose[1], t.size_m[0], t.size_m[1], t.pose[3]) for t in things],
        dtype=np.float64,
    ).reshape(-1, 5)
    return turned_corners(rows[:, :2], rows[:, 2:4] + 2 * grown_m, rows[:, 4])


def polygons(corners: FloatArray) -> list[shapely.Polygon]:
    """The (n, 4, 2) corners as n polygons."""
    return list(np.atleast_1d(np.asarray(shapely.polygons(corners), dtype=np.object_)))


def overlapping_pairs(corners: FloatArray) -> NDArray[np.intp]:
    """(m, 2) indices i < j of rectangles, given by (n, 4, 2) corners, that meet."""
    if not len(corners):
        return np.empty((0, 2), np.intp)
    shapes = polygons(corners)
    pairs = shapely.STRtree(shapes).query(shapes, predicate="intersects").T
    return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]], dtype=np.intp)


# Whether agents can walk to everything and reach it.

# Tolerance: an agent stops on the middle of a cell and not exactly on target.
REACH_MARGIN_M = 0.15
_COMFORT_MARGIN_M = 0.1
# Cached houses; one takes some two megabytes.
_MAX_CACHED = 16
# Remembered points of a house: most episodes of one have most things at the same places.
_MAX_POINTS = 4096


class Reach:
    """The walkable floor of a house and the distance to it, for the most limited kind of body."""

    def __init__(self, house: House, grid: FloorGrid | None = None) -> None:
        """`grid` may be passed if the caller already has it."""
        bodies = default_bodies().values()
        self.radius_m = max(body.radius_m for body in bodies)
        self.reach_m = min(body.reach_m for body in bodies) - REACH_MARGIN_M
        self.low_m = max(body.reach_height_m[0] for body in bodies)
        self.high_m = min(body.reach_height_m[1] for body in bodies)
        self.grid = grid or FloorGrid.of(house, self.radius_m)
        self.walkable = _largest(self.grid.components)
        # (n, 2) middles of the walkable cells in the map frame, in the order of `walkable`.
        self._stands_m = self.grid.free_points_m[self.walkable[self.grid.free]]
        self._gap_cells = _gaps(self.walkable)
        self._walls = walls_of(house)
        shapely.prepare(self._walls)
        self._known: dict[tuple[float, float], bool] = {}

    def gap_m(self, x_m: float, y_m: float) -> float:
        """Distance from a point of the map to the walkable floor; infinite off the grid."""
        cell = self.grid.cell(x_m, y_m)
        return (
            float("inf") if cell is None else float(self._gap_cells.flat[cell]) * self.grid.cell_m
        )

    def to_point(self, x_m: float, y_m: float, z_m: float) -> bool:
        """Whether every kind of body can reach the point, and not through a wall."""
        near = self.at_height(z_m) and self.gap_m(x_m, y_m) <= self.reach_m
        return near and self._past_walls(x_m, y_m)

    def _past_walls(self, x_m: float, y_m: float) -> bool:
        """Whether no wall is between the point and some walkable cell within reach of it."""
        found = self._known.get((x_m, y_m))
        if found is None:
            if len(self._known) >= _MAX_POINTS:
                self._known.clear()
            found = self._known[x_m, y_m] = self._sees_floor(x_m, y_m)
        return found

    def _sees_floor(self, x_m: float, y_m: float) -> bool:
        away_m = np.hypot(self._stands_m[:, 0] - x_m, self._stands_m[:, 1] - y_m)
        near = away_m <= self.reach_m + self.grid.cell_m
        ends = self._stands_m[near]
        if not len(ends):
            return False
        # Usually the nearest cell is enough.
        nearest = ends[away_m[near].argmin()]
        if not shapely.intersects(self._walls, shapely.LineString([(x_m, y_m), nearest])):
            return True
        starts = np.broadcast_to((x_m, y_m), ends.shape)
        lines = shapely.linestrings(np.stack([starts, ends], axis=1))
        return not bool(shapely.intersects(self._walls, lines).all())

    def comfortable(self, x_m: float, y_m: float, z_m: float) -> bool:
        """Like `to_point`, with a margin for inaccuracy."""
        return self.at_height(z_m) and self.gap_m(x_m, y_m) <= self.reach_m - _COMFORT_MARGIN_M

    def at_height(self, z_m: float) -> bool:
        """Whether the height is within every kind of body's reach."""
        return self.low_m <= z_m <= self.high_m

    def to_any(self, points_m: FloatArray) -> bool:
        """Whether one of the (n, 2) points is within horizontal reach, and not through a wall."""
        return any(
            self.gap_m(x, y) <= self.reach_m and self._past_walls(x, y)
            for x, y in points_m.tolist()
        )

    def enters(self, polygon_m: tuple[tuple[float, float], ...]) -> bool:
        """Whether there is walkable floor in a room's polygon."""
        import cv2

        mask = np.zeros(self.walkable.shape, np.uint8)
        cells = (np.array(polygon_m) - self.grid.origin_m) / self.grid.cell_m - 0.5
        cv2.fillPoly(mask, [np.rint(cells).astype(np.int32)], 1)
        return bool((self.walkable & (mask > 0)).any())


_cache: dict[int, tuple[weakref.ref[House], Reach]] = {}


def reach_of(house: House) -> Reach:
    """The reach of a house, without its objects; cached while the house is in use.

    The most recently used houses are cached, none longer than its caller keeps it.
    """
    key = id(house)
    owner, reach = _cache.pop(key, (None, None))
    if owner is None or reach is None or owner() is not house:
        owner, reach = weakref.ref(house, lambda _: _cache.pop(key, None)), Reach(house)
        while len(_cache) >= _MAX_CACHED:
            _cache.pop(next(iter(_cache)), None)
    _cache[key] = owner, reach
    return reach


def walls_of(house: House) -> shapely.Geometry:
    """The centre lines of all walls without door openings."""
    lines = shapely.union_all([room.shape.exterior for room in house.rooms])
    doors = [shapely.Polygon(door_corners(door)) for door in house.doors if len(door.rooms) == 2]
    return shapely.difference(lines, shapely.union_all(doors))


def _largest(components: NDArray[np.int32]) -> NDArray[np.bool_]:
    sizes = np.bincount(components.ravel())
    if len(sizes) < 2:
        return np.zeros(components.shape, np.bool_)
    largest: NDArray[np.bool_] = components == 1 + int(np.argmax(sizes[1:]))
    return largest


def _gaps(walkable: NDArray[np.bool_]) -> NDArray[np.float32]:
    import cv2

    if not walkable.any():
        return np.full(walkable.shape, np.inf, np.float32)
    gaps = cv2.distanceTransform((~walkable).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(gaps, dtype=np.float32)


TOLERANCE_M = 0.001
_REST_M = 0.005
_AGENT = re.compile(r"agent_[0-9]+")


def object_findings(
    house: House, things: Sequence[ObjectPlacement], catalogue: Catalogue, reach: Reach
) -> Iterator[tuple[str, str]]:
    """All problems of `things` in a house, as (field, reason)."""
    floors = {floor_name(room.name): room.name for room in house.rooms}
    by_name = {thing.name: thing for thing in things}
    cycle = containment_cycle(things)
    if cycle is not None:
        index = next(i for i, thing in enumerate(things) if thing.name == cycle[0])
        yield f"objects.{index}.parent", cycle[1]
        return
    taken = _taken_names(house, floors)
    for i, thing in enumerate(things):
        field = f"objects.{i}"
        if thing.name in taken or _AGENT.fullmatch(thing.name):
            yield f"{field}.name", f"{thing.name} is the name of something else"
            continue
        if thing.class_name not in catalogue.objects:
            yield f"{field}.class_name", f"unknown class of object {thing.class_name!r}"
            continue
        allowed = catalogue.objects[thing.class_name].affordances
        for state in default_states().unfit(thing.states, allowed):
            yield f"{field}.states", f"{thing.name} cannot be {state}"
        if thing.parent in floors:
            wrong = _wrong_on_floor(house, thing, floors[thing.parent])
        elif thing.parent in house.furniture_by_name:
            wrong = _wrong_on_furniture(house.furniture_by_name[thing.parent], thing)
        elif thing.parent in by_name:
            wrong = _wrong_on_thing(by_name[thing.parent], thing, catalogue)
        else:
            wrong = ("parent", f"{thing.name} names an unknown parent {thing.parent!r}")
        if wrong is not None:
            yield f"{field}.{wrong[0]}", wrong[1]
        elif not reach.at_height(thing.pose[2]):
            yield f"{field}.pose", f"{thing.name} is out of reach at {thing.pose[2]:.2f} m height"
        elif not reach.to_point(*thing.pose[:3]):
            yield f"{field}.pose", f"no agent can get within reach of {thing.name}"
    yield from _meeting(house, things, set(floors))


def people_findings(
    house: House, people: Sequence[PersonPlacement], things: Sequence[ObjectPlacement]
) -> Iterator[tuple[str, str]]:
    """All problems of the persons of a house or an episode, as (field, reason)."""
    names = {thing.name for thing in things}
    held: set[str] = set()
    for i, person in enumerate(people):
        field, handle = f"people.{i}", person_name(i)
        if house.graph is not None:
            yield field, f"{house.name} is a scene graph, in which no persons can be placed"
            return
        if handle in names:
            yield field, f"{handle} is the name of an object"
        if person.room not in house.rooms_by_name:
            yield f"{field}.room", f"{handle} is in an unknown room {person.room!r}"
        piece = house.furniture_by_name.get(person.at or "")
        if person.at is not None and piece is None:
            yield f"{field}.at", f"{handle} is at unknown furniture {person.at!r}"
        elif piece is not None and piece.room != person.room:
            yield f"{field}.at", f"{piece.name} is in {piece.room}, not in {person.room}"
        if person.holds is not None and person.holds not in names:
            yield f"{field}.holds", f"{handle} holds an unknown object {person.holds!r}"
        elif person.holds in held:
            yield f"{field}.holds", f"somebody else holds {person.holds} already"
        goal = person.answers.get(GOES_TO)
        if goal is not None and goal not in {*house.rooms_by_name, *house.furniture_by_name}:
            yield f"{field}.answers.{GOES_TO}", f"{handle} goes to an unknown place {goal!r}"
        held |= {person.holds} if person.holds is not None else set()


def _taken_names(house: House, floors: Collection[str]) -> frozenset[str]:
    """What worlds, scenes and memories know under a name already."""
    parts = (house.rooms, house.doors, house.furniture)
    return frozenset((*floors, *(part.name for kind in parts for part in kind)))


def _wrong_on_floor(house: House, thing: ObjectPlacement, room: str) -> tuple[str, str] | None:
    if thing.relation is not Relation.ON or thing.part != "floor":
        return "part", f"{thing.name} is on a floor, whose only part is 'floor'"
    if abs(thing.pose[2]) > _REST_M:
        return "pose", f"{thing.name} floats {thing.pose[2]:.3f} m above the floor of {room}"
    shape = shapely.Polygon(object_corners([thing], -TOLERANCE_M)[0])
    if not house.rooms_by_name[room].shape.covers(shape):
        return "pose", f"{thing.name} is not inside {room}"
    return None


def _wrong_on_furniture(piece: Furniture, thing: ObjectPlacement) -> tuple[str, str] | None:
    if thing.relation is Relation.ON:
        surface = next((s for s in piece.surfaces if s.name == thing.part), None)
        if surface is None:
            return "part", f"{piece.name} has no surface {thing.part!r}"
        rest_m, (depth, width) = surface.center[2], surface.size
        center, headroom = surface.center, surface.clearance
    else:
        hollow = next((h for h in piece.interiors if h.name == thing.part), None)
        if hollow is None:
            return "part", f"{piece.name} has no interior {thing.part!r}"
        depth, width, headroom = hollow.size
        rest_m, center = hollow.center[2] - headroom / 2, hollow.center
    above = thing.pose[2] - rest_m
    if abs(above) <= _REST_M and thing.size_m[2] + above > headroom + TOLERANCE_M:
        return "pose", f"{thing.name} is too high for {piece.name}'s {thing.part}"
    frame = (piece.x_m, piece.y_m, 0.0, piece.yaw_rad)
    return _wrong_on_area(piece.name, frame, thing, (center[0], center[1], rest_m), (depth, width))


def _wrong_on_thing(
    holder: ObjectPlacement, thing: ObjectPlacement, catalogue: Catalogue
) -> tuple[str, str] | None:
    cls = catalogue.objects.get(holder.class_name)
    part = part_of(cls, thing.relation) if cls is not None else None
    if cls is None or part is None or thing.part != part:
        return "part", f"{holder.name} has no part {thing.part!r} to be {thing.relation}"
    shape = shape_of(cls, holder.size_m)
    if thing.relation is Relation.WITHIN and shape.hollow is not None:
        (x, y, z), (depth, width, height) = shape.hollow.center, shape.hollow.size
        return _wrong_on_area(
            holder.name, holder.pose, thing, (x, y, z - height / 2), (depth, width)
        )
    if shape.top is not None:
        return _wrong_on_area(holder.name, holder.pose, thing, shape.top.center, shape.top.size)
    return None


def _wrong_on_area(
    name: str,
    frame: tuple[float, float, float, float],
    thing: ObjectPlacement,
    center: Vec3,
    size: tuple[float, float],
) -> tuple[str, str] | None:
    """What is wrong with a thing on a rectangle of a frame [x, y, z, yaw] of the map."""
    above = thing.pose[2] - frame[2] - center[2]
    if abs(above) > _REST_M:
        what = "floats" if above > 0 else "is sunk"
        return "pose", f"{thing.name} {what} {abs(above):.3f} m at {name}'s {thing.part}"
    c, s = math.cos(frame[3]), math.sin(frame[3])
    dx, dy = thing.pose[0] - frame[0], thing.pose[1] - frame[1]
    x, y = dx * c + dy * s - center[0], dy * c - dx * s - center[1]
    turn = thing.pose[3] - frame[3]
    c, s = abs(math.cos(turn)), abs(math.sin(turn))
    hx = (thing.size_m[0] * c + thing.size_m[1] * s) / 2
    hy = (thing.size_m[0] * s + thing.size_m[1] * c) / 2
    if abs(x) + hx > size[0] / 2 + TOLERANCE_M or abs(y) + hy > size[1] / 2 + TOLERANCE_M:
        return "pose", f"{thing.name} sticks out of {name}'s {thing.part}"
    return None


def _meeting(
    house: House, things: Sequence[ObjectPlacement], floors: set[str]
) -> Iterator[tuple[str, str]]:
    """Things that overlap one another, or furniture if they lie on the floor."""
    holders = {thing.name: thing.parent for thing in things}

    def _is_around(one: str, other: str) -> bool:
        while (other := holders.get(other, "")) in holders:
            if other == one:
                return True
        return False

    for i, j in overlapping_pairs(object_corners(things, -TOLERANCE_M / 2)):
        a, b = things[i], things[j]
        if _is_around(a.name, b.name) or _is_around(b.name, a.name):
            continue
        low = max(a.pose[2], b.pose[2])
        high = min(a.pose[2] + a.size_m[2], b.pose[2] + b.size_m[2])
        if high - low > TOLERANCE_M:
            yield f"objects.{j}.pose", f"{b.name} overlaps {a.name}"
    lying = [i for i, thing in enumerate(things) if thing.parent in floors]
    if not lying or not house.furniture:
        return
    pieces = shapely.STRtree(polygons(furniture_corners(house.furniture)))
    shapes = polygons(object_corners([things[i] for i in lying], -TOLERANCE_M))
    for i, j in pieces.query(shapes, predicate="intersects").T:
        thing, piece = things[lying[i]], house.furniture[j]
        yield f"objects.{lying[i]}.pose", f"{thing.name} overlaps {piece.name}"
