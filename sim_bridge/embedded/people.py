"""Where the persons of an episode are at its start, in the embedded world."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import in_polygon
from planner.world.house import Furniture, House, Surface
from planner.world.person import (
    PERSON_CLASS,
    SIZES_M,
    Person,
    PersonPlacement,
    Posture,
    person_name,
)
from planner.world.vocabulary import Relation, floor_name
from sim_bridge.embedded.entities import Piece, Place, Thing
from sim_bridge.embedded.house_ground import HouseGround

# The room that a person needs on the floor: as much as the robot, so that both walk the same floor.
RADIUS_M = 0.28
# Between the middles of a person and of another one, or of an agent, at the start.
APART_M = 0.8
# Of doorways, which persons leave free.
_OFF_DOORS_M = 0.7
# No seat is higher, and none is smaller.
_SEAT_HIGH_M, _SEAT_WIDE_M, _BED_LONG_M = 0.8, 0.3, 1.2
_STEPS = (0.0, -0.25, 0.25, -0.4, 0.4)


@dataclass(slots=True)
class Walk:
    """A person who comes along behind an agent, who is followed by it, or who walks alone.

    Attributes:
        agent: whom the person follows, or who follows; "" = nobody.
        place: where a person goes who is followed; "" = the person comes along.
        goal: the cell of the place, which is searched for once; None = not yet, or there is none.
        corners: of the way, the next one first.
        planned_s: when that was found; -inf = never.
        still_s: for how long both have been standing.
        blocked_s: for how long somebody has been in the way.
    """

    agent: str
    place: str = ""
    goal: int | None = None
    corners: list[tuple[float, float]] = field(default_factory=list)
    planned_s: float = -math.inf
    still_s: float = 0.0
    blocked_s: float = 0.0


def hand_of(person: Thing, height_m: float) -> Place:
    """Where what a person holds is: [x, y, z, yaw] of the middle of its underside."""
    x, y, z = person.to_map((0.3, -0.2, min(1.0, 0.6 * person.size_m[2])))
    return (x, y, z - height_m / 2, person.yaw_rad)


def place_people(
    ground: HouseGround,
    episode: Episode,
    things: Mapping[str, Thing],
    agents_m: Sequence[tuple[float, float]],
    ids: Iterator[int],
    rng: np.random.Generator,
) -> Iterator[Thing]:
    """The persons of an episode, each at a free place of its room.

    Raises:
        FileError: with the person's field, if house or room have no such place.
    """
    placed: list[Thing] = []
    for number, record in enumerate(episode.people):
        where = f"people.{number}"
        if record.room not in ground.house.rooms_by_name:
            reason = f"{ground.house.name} has no room {record.room!r}"
            raise FileError(episode.title, f"{where}.room", reason)
        for k, stroll in enumerate(record.strolls):
            if floor_cell(ground.grid(RADIUS_M), ground.house, stroll.to) is None:
                reason = f"there is no floor to stand on at {stroll.to!r}"
                raise FileError(episode.title, f"{where}.strolls.{k}.to", reason)
        piece = ground.house.furniture_by_name.get(record.at or "")
        if record.at is not None and piece is None:
            reason = f"{ground.house.name} has no furniture {record.at!r}"
            raise FileError(episode.title, f"{where}.at", reason)
        around_m = [*agents_m, *((p.x_m, p.y_m) for p in placed)]
        person = _person(record, person_name(number), next(ids))
        on = None if piece is None else _seat(piece, person, [*things.values(), *placed])
        if on is None:
            spot = _floor_spot(ground, record, piece, around_m, rng)
            if spot is None:
                reason = f"there is no free floor for a person in {record.room}"
                raise FileError(episode.title, f"{where}.room", reason)
            person.x_m, person.y_m, person.yaw_rad = spot
        else:
            person.x_m, person.y_m, person.z_m, person.yaw_rad = on[1]
            person.parent, person.part = piece.name if piece is not None else "", on[0].name
        placed.append(person)
        yield person


def _person(record: PersonPlacement, name: str, number: int) -> Thing:
    return Thing(
        name=name,
        class_name=PERSON_CLASS,
        instance_id=number,
        size_m=SIZES_M[record.posture],
        x_m=0.0,
        y_m=0.0,
        z_m=0.0,
        yaw_rad=0.0,
        parent=floor_name(record.room),
        relation=Relation.ON,
        part="floor",
        room=record.room,
        affordances=(),
        states={},
        person=Person(record.name, record.clothes, record.posture, record.gesture),
    )


def _seat(
    furniture: Furniture, person: Thing, others: Sequence[Thing]
) -> tuple[Surface, Place] | None:
    """The surface on which one who sits or lies does so, and where; None = on the floor."""
    posture = person.person.posture if person.person is not None else Posture.STANDING
    if posture is Posture.STANDING:
        return None
    long_m = _BED_LONG_M if posture is Posture.LYING else _SEAT_WIDE_M
    fitting = [
        surface
        for surface in furniture.surfaces
        if surface.center[2] <= _SEAT_HIGH_M
        and min(surface.size) >= _SEAT_WIDE_M
        and max(surface.size) >= long_m
    ]
    surface = max(fitting, key=lambda s: s.size[0] * s.size[1], default=None)
    if surface is None:
        return None
    piece = Piece(furniture, 0, {}, {joint.name: 0.0 for joint in furniture.joints})
    along = 0 if surface.size[0] > surface.size[1] else 1
    turned = math.pi / 2 if posture is Posture.LYING and along == 1 else 0.0
    taken = [other.state().box for other in others if other.parent == furniture.name]
    cx, cy, cz = surface.center
    for share in _STEPS:
        # Who lies does so in the middle.
        off = 0.0 if posture is Posture.LYING else share * surface.size[along]
        point = (cx + off, cy, cz) if along == 0 else (cx, cy + off, cz)
        x, y, z = piece.to_map(point)
        person.x_m, person.y_m, person.z_m = x, y, z
        person.yaw_rad = furniture.yaw_rad + turned
        box = person.state().box
        if all(box.horizontal_gap_m(other) > 0 for other in taken):
            return surface, (x, y, z, person.yaw_rad)
    return None


def _floor_spot(
    ground: HouseGround,
    record: PersonPlacement,
    piece: Furniture | None,
    around_m: Sequence[tuple[float, float]],
    rng: np.random.Generator,
) -> tuple[float, float, float] | None:
    """x, y and yaw of a free place on the floor of the room, beside the furniture if there is."""
    grid, house = ground.starts(RADIUS_M), ground.house
    spots = [
        (x, y)
        for x, y in _floor_of(grid, house, record.room)
        if all(math.dist((x, y), other) >= APART_M for other in around_m)
        and all(math.dist((x, y), door.center_m) >= _OFF_DOORS_M for door in house.doors)
    ]
    if not spots:
        return None
    order = [spots[i] for i in rng.permutation(len(spots))]
    if piece is None:
        x, y = order[0]
        return x, y, float(rng.uniform(-math.pi, math.pi))
    x, y = min(order, key=lambda spot: round(piece.box.distance_m((*spot, 0.1)), 1))
    return x, y, math.atan2(y - piece.y_m, x - piece.x_m)


def _floor_of(grid: FloorGrid, house: House, room: str) -> Iterator[tuple[float, float]]:
    """The middles of the free cells of a room that can be walked to from most of the house."""
    labels = grid.components[grid.free]
    largest = int(np.argmax(np.bincount(labels)[1:])) + 1 if len(labels) else 0
    polygon = house.rooms_by_name[room].polygon_m
    for x, y in grid.free_points_m[labels == largest].tolist():
        if in_polygon(polygon, x, y):
            yield x, y


def floor_cell(grid: FloorGrid, house: House, place: str) -> int | None:
    """The cell of a room, or beside furniture, to which a person walks; None if there is none."""
    piece, room = house.furniture_by_name.get(place), house.rooms_by_name.get(place)
    if piece is not None:
        spots = _floor_of(grid, house, piece.room)
        gaps = ((round(piece.box.distance_m((*spot, 0.1)), 1), *spot) for spot in spots)
    elif room is not None:
        middle = room.shape.representative_point()
        spots = _floor_of(grid, house, place)
        gaps = ((round(math.dist(spot, (middle.x, middle.y)), 1), *spot) for spot in spots)
    else:
        return None
    best = min(gaps, default=None)
    return None if best is None else grid.cell(best[1], best[2])
