"""Places objects where people put them: on surfaces, inside furniture, rarely on the floor."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import cv2
import numpy as np
import shapely

from planner.world.catalogue import Catalogue, ObjectClass, default_catalogue
from planner.world.floor_grid import WALL_THICKNESS_M, connected_parts, door_corners
from planner.world.furnishing import object_size
from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.object_checks import furniture_corners, polygons, reach_of
from planner.world.receptacle import known_shape
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

# Places for objects: every surface and interior of a house, and what already lies there.

GAP_M = 0.01
# Of what is open at its top.
OPEN_M = 1.0
_EDGE_M = 0.012
_SAMPLES = 24
_KEPT = 6


@dataclass(slots=True)
class Spot:
    """One surface or interior of furniture or of a thing.

    Attributes:
        owner: the name of the furniture or thing.
        frame: its frame as [x, y, z, yaw] of the map.
        center: middle of the spot's floor in that frame, metres.
        half: half extents along the frame's x and y, metres.
        headroom_m: the height of the tallest thing that fits.
        taken: (x0, y0, x1, y1) in that frame of what lies there.
    """

    owner: str
    frame: tuple[float, float, float, float]
    part: str
    relation: Relation
    center: Vec3
    half: tuple[float, float]
    headroom_m: float
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    @property
    def crowding(self) -> float:
        """The share of the spot's floor that is occupied."""
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.taken)
        return area / (4 * self.half[0] * self.half[1])

    def candidates(self, size_m: Vec3, rng: np.random.Generator) -> list[tuple[float, ...]]:
        """Free poses for a thing of this size as (x, y, yaw) in the spot's frame.

        At most a few, those far from other objects first; empty if it does not fit.
        """
        if size_m[2] > self.headroom_m - GAP_M:
            return []
        turns = math.pi / 2 * rng.integers(0, 4, _SAMPLES) + rng.normal(0.0, 0.18, _SAMPLES)
        # Include axis-aligned poses: in a narrow drawer nothing else fits.
        turns[: _SAMPLES // 3] = math.pi / 2 * rng.integers(0, 2, _SAMPLES // 3)
        turns = np.round(turns, 4)
        c, s = np.abs(np.cos(turns)), np.abs(np.sin(turns))
        hx = (size_m[0] * c + size_m[1] * s) / 2
        hy = (size_m[0] * s + size_m[1] * c) / 2
        room_x, room_y = self.half[0] - _EDGE_M - hx, self.half[1] - _EDGE_M - hy
        fits = (room_x >= 0) & (room_y >= 0)
        x = np.round(self.center[0] + rng.uniform(-1, 1, _SAMPLES) * room_x, 4)
        y = np.round(self.center[1] + rng.uniform(-1, 1, _SAMPLES) * room_y, 4)
        gaps = self._gaps(x, y, hx, hy)
        fits &= gaps >= GAP_M
        chosen = np.flatnonzero(fits)[:_KEPT]
        chosen = chosen[np.argsort(-np.minimum(gaps[chosen], 0.25), kind="stable")]
        return [(float(x[i]), float(y[i]), float(turns[i])) for i in chosen]

    def _gaps(self, x: FloatArray, y: FloatArray, hx: FloatArray, hy: FloatArray) -> FloatArray:
        """(n,) distance from each candidate to the nearest object; negative if they overlap."""
        if not self.taken:
            return np.full(len(x), 1.0)
        taken = np.array(self.taken)
        dx = np.maximum(taken[:, 0] - (x + hx)[:, None], (x - hx)[:, None] - taken[:, 2])
        dy = np.maximum(taken[:, 1] - (y + hy)[:, None], (y - hy)[:, None] - taken[:, 3])
        gaps: FloatArray = np.maximum(dx, dy).min(axis=1)
        return gaps

    def take(self, x: float, y: float, yaw: float, size_m: Vec3) -> None:
        """Marks the floor under a thing, given in the spot's frame, as taken."""
        c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
        hx, hy = (size_m[0] * c + size_m[1] * s) / 2, (size_m[0] * s + size_m[1] * c) / 2
        self.taken.append((x - hx, y - hy, x + hx, y + hy))

    def in_map(self, x: float, y: float, yaw: float) -> tuple[float, float, float, float]:
        """A pose of the spot's frame as [x, y, z, yaw] of the map."""
        x0, y0, z0, yaw0 = self.frame
        c, s = math.cos(yaw0), math.sin(yaw0)
        turned = math.remainder(yaw + yaw0, math.tau)
        return (
            round(x0 + x * c - y * s, 4),
            round(y0 + x * s + y * c, 4),
            round(z0 + self.center[2], 4),
            round(turned, 4),
        )

    def from_map(self, placement: ObjectPlacement) -> tuple[float, float, float]:
        """(x, y, yaw) of a placement in the spot's frame."""
        x0, y0, _, yaw0 = self.frame
        c, s = math.cos(yaw0), math.sin(yaw0)
        dx, dy = placement.pose[0] - x0, placement.pose[1] - y0
        return dx * c + dy * s, dy * c - dx * s, placement.pose[3] - yaw0


def spots_of(house: House, taken: Iterable[ObjectPlacement] = ()) -> dict[str, list[Spot]]:
    """All spots by the name of the furniture or thing, with what lies there marked."""
    spots = {piece.name: list(_spots(piece)) for piece in house.furniture}
    taken = tuple(taken)
    for placement in taken:
        of_thing = spots_of_thing(placement)
        if of_thing:
            spots[placement.name] = of_thing
    for placement in taken:
        for spot in spots.get(placement.parent, ()):
            if spot.part == placement.part:
                spot.take(*spot.from_map(placement), placement.size_m)
    return spots


def spots_of_thing(thing: ObjectPlacement) -> list[Spot]:
    """The hollow and the top of a thing, as far as its class has them."""
    shape, found = known_shape(thing.class_name, thing.size_m), []
    if shape.top is not None:
        found.append((shape.top.name, Relation.ON, shape.top.center, shape.top.size))
    if shape.hollow is not None:
        (x, y, z), (depth, width, height) = shape.hollow.center, shape.hollow.size
        bottom = (x, y, z - height / 2)
        found.append((shape.hollow.name, Relation.WITHIN, bottom, (depth, width)))
    return [
        Spot(thing.name, thing.pose, part, relation, at, (size[0] / 2, size[1] / 2), OPEN_M)
        for part, relation, at, size in found
    ]


def _spots(piece: Furniture) -> Sequence[Spot]:
    frame = (piece.x_m, piece.y_m, 0.0, piece.yaw_rad)
    on = [
        Spot(
            piece.name,
            frame,
            s.name,
            Relation.ON,
            s.center,
            (s.size[0] / 2, s.size[1] / 2),
            s.clearance,
        )
        for s in piece.surfaces
    ]
    within = [
        Spot(
            piece.name,
            frame,
            i.name,
            Relation.WITHIN,
            (i.center[0], i.center[1], round(i.center[2] - i.size[2] / 2, 4)),
            (i.size[0] / 2, i.size[1] / 2),
            i.size[2],
        )
        for i in piece.interiors
    ]
    return [*on, *within]


# Where things may lie on the floor: next to walls and furniture, never in the way.

_OPEN_FLOOR_SAMPLES = 40
_GAP_M = 0.03
_DOOR_M = 1.6
_FRONT_M = 0.6


class OpenFloor:
    """The walkable floor of a house, which shrinks with everything put on it."""

    def __init__(self, house: House, taken: Iterable[ObjectPlacement] = ()) -> None:
        """`taken` are the objects already in the furnished house."""
        self._house = house
        self.reach = reach_of(house)
        self._grid = self.reach.grid
        self._walkable = self.reach.walkable.copy()
        self._lying = [p for p in taken if p.part == "floor"]

    @cached_property
    def _blocked(self) -> list[shapely.Polygon]:
        # Built on first use, since most callers put nothing on the floor.
        house = self._house
        shapes = polygons(furniture_corners(house.furniture))
        shapes += [shapely.Polygon(door_corners(door, _DOOR_M)) for door in house.doors]
        shapes += [_front(piece) for piece in house.furniture if piece.joints]
        shapes += [_disc(p.pose[0], p.pose[1], p.size_m) for p in self._lying]
        return shapes

    def put(
        self, room: str, size_m: Vec3, rng: np.random.Generator
    ) -> tuple[float, float, float] | None:
        """Reserves a free spot for a thing: (x, y, yaw) in the map, or None if there is none."""
        area = self._house.rooms_by_name[room].shape.buffer(-WALL_THICKNESS_M / 2 - 0.02)
        x0, y0, x1, y1 = area.bounds
        half = math.hypot(size_m[0], size_m[1]) / 2
        points = rng.uniform(
            (x0 + half, y0 + half), (x1 - half, y1 - half), (_OPEN_FLOOR_SAMPLES, 2)
        )
        yaws = np.round(rng.uniform(-math.pi, math.pi, _OPEN_FLOOR_SAMPLES), 4)
        blocked = shapely.STRtree(self._blocked)
        discs = shapely.buffer(shapely.points(points), half + _GAP_M)
        clear = np.ones(_OPEN_FLOOR_SAMPLES, np.bool_)
        clear[np.unique(blocked.query(discs, predicate="intersects")[0])] = False
        clear &= shapely.contains_properly(area, shapely.buffer(shapely.points(points), half))
        depth = self._depth_cells()
        order = sorted(np.flatnonzero(clear), key=lambda i: self._openness(points[i], depth))
        for i in order[:8]:
            x, y = round(float(points[i][0]), 4), round(float(points[i][1]), 4)
            reached = self.reach.to_point(x, y, self.reach.low_m)
            if reached and self._stays_connected(x, y, half):
                self._blocked.append(_disc(x, y, size_m))
                return x, y, float(yaws[i])
        return None

    def _depth_cells(self) -> FloatArray:
        walkable = self._walkable.astype(np.uint8)
        depth = cv2.distanceTransform(walkable, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        return np.asarray(depth, dtype=np.float64)

    def _openness(self, point: FloatArray, depth: FloatArray) -> float:
        """A point's depth in the walkable floor, cells; infinite if out of reach."""
        x, y = float(point[0]), float(point[1])
        if not self.reach.comfortable(x, y, self.reach.low_m):
            return math.inf
        cell = self._grid.cell(x, y)
        return math.inf if cell is None else float(depth.flat[cell])

    def _stays_connected(self, x: float, y: float, half_m: float) -> bool:
        remaining = self._walkable.copy()
        remaining.flat[self._grid.free_within(x, y, half_m + self.reach.radius_m)] = False
        labels = connected_parts(remaining)
        sizes = np.bincount(labels.ravel())[1:]
        if not len(sizes) or sizes.sum() - sizes.max() > 2:
            return False
        self._walkable = remaining
        return True


def _front(piece: Furniture) -> shapely.Polygon:
    """The floor needed by opening doors and drawers and by agents that open them."""
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    half_x, half_y = piece.size_m[0] / 2, piece.size_m[1] / 2
    corners = ((half_x, -half_y), (half_x + _FRONT_M, -half_y), (half_x + _FRONT_M, half_y))
    return shapely.Polygon(
        [
            (piece.x_m + x * c - y * s, piece.y_m + x * s + y * c)
            for x, y in (*corners, (half_x, half_y))
        ]
    )


def _disc(x: float, y: float, size_m: Sequence[float]) -> shapely.Polygon:
    return shapely.Point(x, y).buffer(math.hypot(size_m[0], size_m[1]) / 2, quad_segs=4)


_SIZES_TRIED = 2
_MAX_OF_A_CLASS = 4


@dataclass(frozen=True, slots=True)
class ObjectRequest:
    """A request for one object.

    Attributes:
        classes: acceptable classes; one is drawn.
        relation: on or within the furniture.
        furniture: names of acceptable furniture, `floor_<room>` for a floor; empty = wherever its
            class is likely to be.
        states: states that differ from the class's own.
    """

    classes: tuple[str, ...]
    relation: Relation = Relation.ON
    furniture: tuple[str, ...] = ()
    states: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A request that could not be met, and the reason in one sentence."""

    request: ObjectRequest
    reason: str


def place_objects(
    house: House,
    requests: Sequence[ObjectRequest],
    rng: np.random.Generator,
    occupied: Sequence[ObjectPlacement] = (),
) -> tuple[ObjectPlacement | Unplaced, ...]:
    """Places objects one after the other.

    Nothing overlaps, floats, sticks out, or lies out of an agent's reach. `house.objects` are
    ignored.

    Args:
        house: the furnished house.
        requests: one per object.
        rng: the only source of randomness.
        occupied: objects already there; new names continue their numbering.

    Returns:
        For each request, in order, its placement or the reason why there is none.
    """
    clutter = _Clutter(house, occupied, rng)
    return tuple(clutter.add(request) for request in requests)


def scatter(house: House, count: int, rng: np.random.Generator) -> tuple[ObjectPlacement, ...]:
    """Likely objects in likely places: `count`, or as many as fit."""
    classes = default_catalogue().objects
    room_class = {room.name: room.class_name for room in house.rooms}
    owned: set[tuple[str, str | None]] = {(piece.class_name, None) for piece in house.furniture}
    owned |= {(piece.class_name, room_class[piece.room]) for piece in house.furniture}
    likely = [
        name
        for name, cls in classes.items()
        if any((p.furniture, room) in owned for p in cls.places for room in (p.rooms or (None,)))
    ]
    if not likely:
        return ()
    clutter = _Clutter(house, (), rng)
    placed: list[ObjectPlacement] = []
    numbers: Counter[str] = Counter()
    for _ in range(3 * count):
        if len(placed) >= count:
            break
        name = likely[int(rng.integers(len(likely)))]
        if numbers[name] >= _MAX_OF_A_CLASS:
            continue
        outcome = clutter.add(ObjectRequest((name,)), any_relation=True)
        if isinstance(outcome, ObjectPlacement):
            numbers[name] += 1
            placed.append(outcome)
    return tuple(placed)


class _Clutter:
    """The house while it is being filled."""

    def __init__(
        self, house: House, occupied: Sequence[ObjectPlacement], rng: np.random.Generator
    ) -> None:
        self._house = house
        self._rng = rng
        self._catalogue: Catalogue = default_catalogue()
        self._spots = spots_of(house, occupied)
        self._floor = OpenFloor(house, occupied)
        self._floors = {floor_name(room.name): room.name for room in house.rooms}
        self._room_class = {room.name: room.class_name for room in house.rooms}
        self._names = {placement.name for placement in occupied}
        self._next: Counter[str] = Counter()

    def add(self, request: ObjectRequest, any_relation: bool = False) -> ObjectPlacement | Unplaced:
        """Meets one request, or returns the reason."""
        unknown = [c for c in request.classes if c not in self._catalogue.objects]
        if unknown or not request.classes:
            return Unplaced(request, f"unknown class of object {', '.join(unknown) or '(none)'}")
        cls = self._catalogue.objects[
            request.classes[int(self._rng.integers(len(request.classes)))]
        ]
        if not request.furniture:
            return self._add_likely(request, cls, None if any_relation else request.relation)
        known = set(self._spots) | set(self._floors)
        missing = [name for name in request.furniture if name not in known]
        if len(missing) == len(request.furniture):
            return Unplaced(request, f"the house has no {', '.join(missing)}")
        present = [name for name in request.furniture if name in known]
        for index in self._rng.permutation(len(present)):
            placed = self._add_at(request, cls, present[index])
            if placed is not None:
                return placed
        return Unplaced(request, self._why_not(request, cls, present))

    def _add_likely(
        self, request: ObjectRequest, cls: ObjectClass, relation: Relation | None
    ) -> ObjectPlacement | Unplaced:
        places = [p for p in cls.places if relation is None or p.relation is relation]
        if not places:
            return Unplaced(request, f"{cls.name} is not kept {relation} any furniture")
        keys = self._rng.random(len(places)) ** (1 / np.array([p.weight for p in places]))
        for index in np.argsort(-keys):
            place = places[index]
            spots = [
                spot
                for piece in self._house.furniture
                if piece.class_name == place.furniture
                and (not place.rooms or self._room_class[piece.room] in place.rooms)
                for spot in self._spots[piece.name]
                if spot.relation is place.relation
            ]
            placed = self._add_to(request, cls, spots)
            if placed is not None:
                return placed
        return Unplaced(request, f"no likely place for a {cls.name} has room for it")

    def _add_at(
        self, request: ObjectRequest, cls: ObjectClass, name: str
    ) -> ObjectPlacement | None:
        if name in self._floors:
            if request.relation is not Relation.ON:
                return None
            return self._add_to_floor(request, cls, name)
        spots = [spot for spot in self._spots[name] if spot.relation is request.relation]
        return self._add_to(request, cls, spots)

    def _add_to_floor(
        self, request: ObjectRequest, cls: ObjectClass, name: str
    ) -> ObjectPlacement | None:
        size = object_size(cls, self._rng)
        found = self._floor.put(self._floors[name], size, self._rng)
        if found is None:
            return None
        x, y, yaw = found
        return self._placement(request, cls, size, (x, y, 0.0, yaw), name, "floor", Relation.ON)

    def _add_to(
        self, request: ObjectRequest, cls: ObjectClass, spots: Sequence[Spot]
    ) -> ObjectPlacement | None:
        """Tries spots, preferring emptier ones, first with a normal and then with a small size."""
        crowding = np.array([spot.crowding for spot in spots])
        order = np.argsort(crowding + self._rng.uniform(0.0, 0.3, len(spots)))
        for attempt in range(_SIZES_TRIED):
            size = object_size(cls, self._rng)
            if attempt:
                size = _smallest(cls)
            for index in order:
                placed = self._add_to_spot(request, cls, spots[index], size)
                if placed is not None:
                    return placed
        return None

    def _add_to_spot(
        self, request: ObjectRequest, cls: ObjectClass, spot: Spot, size: Vec3
    ) -> ObjectPlacement | None:
        for x, y, yaw in spot.candidates(size, self._rng):
            pose = spot.in_map(x, y, yaw)
            at = pose[:3]
            # The second check is the expensive one: it looks for walls in between.
            if self._floor.reach.comfortable(*at) and self._floor.reach.to_point(*at):
                spot.take(x, y, yaw, size)
                return self._placement(
                    request, cls, size, pose, spot.owner, spot.part, spot.relation
                )
        return None

    def _placement(
        self,
        request: ObjectRequest,
        cls: ObjectClass,
        size: Vec3,
        pose: tuple[float, float, float, float],
        parent: str,
        part: str,
        relation: Relation,
    ) -> ObjectPlacement:
        while (name := f"{cls.name}_{self._next[cls.name]}") in self._names:
            self._next[cls.name] += 1
        # No random number, so that houses stay as they were but for the colours.
        colors = (None, *cls.colors)
        self._names.add(name)
        return ObjectPlacement.model_validate(
            {
                "name": name,
                "class_name": cls.name,
                "size_m": size,
                "pose": pose,
                "parent": parent,
                "relation": relation,
                "part": part,
                "color": colors[self._next[cls.name] % len(colors)],
                "states": default_states().initial(cls.affordances, cls.states, request.states),
            }
        )

    def _why_not(self, request: ObjectRequest, cls: ObjectClass, names: Sequence[str]) -> str:
        wanted = "surface" if request.relation is Relation.ON else "inside"
        usable = [
            name
            for name in names
            if (name in self._floors and request.relation is Relation.ON)
            or any(spot.relation is request.relation for spot in self._spots.get(name, ()))
        ]
        if not usable:
            return f"{', '.join(names)} has no {wanted} for a {cls.name}"
        return f"no free place for a {cls.name} {request.relation} {', '.join(usable)}"


def _smallest(cls: ObjectClass) -> Vec3:
    x, y, z = (round(extent * (1 - cls.size_spread), 4) for extent in cls.size_m)
    return (x, y, z)
