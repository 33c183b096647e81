"""Places objects where people put them: on surfaces, inside furniture, rarely on the floor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.houses.open_floor import OpenFloor
from planner.houses.spots import Spot, spots_of
from planner.world.catalogue import Catalogue, ObjectClass, default_catalogue
from planner.world.furnishing import object_size
from planner.world.geometry import Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.states import default_states
from planner.world.vocabulary import (
    Relation,
    floor_name,
)

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
