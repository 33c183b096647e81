"""How far a plan leads before anybody carries it out: through doors, as the graph world walks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.episodes.et_generation.house_facts import Entity, HouseFacts
from planner.world.geometry import Pose
from planner.world.put_spots import spot_at_piece
from planner.world.room_ways import Point, Ways, length_m, stopped
from planner.world.vocabulary import Relation


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a walk begins."""

    at_m: Point
    room: str


class Walking:
    """Measures walks in one house; what was measured once is kept."""

    def __init__(self, facts: HouseFacts) -> None:
        self._facts = facts
        self._ways = Ways(facts.house)
        # As the graph world has it, things have no yaw.
        self._things = {item.name: item for item in facts.house.objects}
        self._at_start: dict[str, Point] = {
            room.name: _middle(room.polygon_m) for room in facts.house.rooms
        }
        self._between: dict[tuple[str, str], float] = {}
        self._legs: dict[tuple[Point, str, str, Point], tuple[float, Point] | None] = {}

    def rough_m(self, start: Stand | str, name: str) -> float:
        """From a start, or the middle of something, to the middle of something; inf = no way."""
        if isinstance(start, Stand):
            return self._straight_m(start.at_m, start.room, name)
        key = (start, name)
        if key not in self._between:
            room = self._facts.room_of(start)
            self._between[key] = self._straight_m(self._at_m(start), room, name)
        return self._between[key]

    def sized(self, name: str) -> Entity:
        """A thing or piece with its own size, however it is turned."""
        entity = self._facts.entities[name]
        item = self._things.get(name)
        return entity if item is None else replace(entity, size_m=item.size_m)

    def plan_m(self, start: Stand, plan: Sequence[str]) -> float:
        """The length of a plan's walks, as the graph world counts it; inf without a way."""
        at, room, total = start.at_m, start.room, 0.0
        put = _Put(self)
        for call in plan:
            verb, _, rest = call.partition("[")
            if verb == "Place":
                thing, how, place = rest.split(", ")[:3]
                put.down(thing, Relation(how), place)
            if verb != "Navigate":
                continue
            name = rest[:-1]
            to_room = self._facts.room_of(put.base_of(name))
            leg = self._leg(at, room, name, to_room, put.at_m.get(name) or self._at_m(name))
            if leg is None:
                return math.inf
            (walked_m, at), room = leg, to_room
            total += walked_m
        return total

    def _leg(
        self, at: Point, room: str, name: str, to_room: str, goal: Point
    ) -> tuple[float, Point] | None:
        # What was put down again elsewhere lies at another point.
        key = (at, room, name, goal)
        if key not in self._legs:
            self._legs[key] = self._walked(at, room, name, to_room, goal)
        return self._legs[key]

    def _walked(
        self, at: Point, room: str, name: str, to_room: str, goal: Point
    ) -> tuple[float, Point] | None:
        way = self._ways.way(room, to_room, goal)
        if way is None:
            return None
        if name in self._facts.entities:
            end = stopped(way[-2] if len(way) > 1 else at, goal, self._gap_of(name, goal))
            way = (*way[:-1], end)
        return length_m(at, way), way[-1]

    def _straight_m(self, at: Point, room: str, name: str) -> float:
        way = self._ways.way(room, self._facts.room_of(name), self._at_m(name))
        return math.inf if way is None else length_m(at, way)

    def _at_m(self, name: str) -> Point:
        if name not in self._at_start:
            self._at_start[name] = self._first_m(name)
        return self._at_start[name]

    def _first_m(self, name: str) -> Point:
        """Where something is at the start: on a turned thing not where the house has it.

        In the graph world holders have no yaw, so what is on them is turned back with them.
        """
        entity = self._facts.entities[name]
        item, holder = self._things.get(name), self._things.get(entity.parent)
        if item is None or holder is None:
            return entity.middle_m[:2]
        frame = Pose.planar(*holder.pose[:2], holder.pose[3]).inverse()
        dx, dy, _ = frame.apply((*item.pose[:2], 0.0))
        x, y = self._at_m(holder.name)
        return (x + dx, y + dy)

    def _gap_of(self, name: str, at: Point) -> _Gap:
        item = self._things.get(name)
        x, y, _ = self._facts.entities[name].size_m if item is None else item.size_m
        return _Gap(*at, x / 2, y / 2)


class _Put:
    """Where things are that were put down.

    Attributes:
        at_m: of those on or in furniture; what is in another thing is not walked to.
    """

    def __init__(self, walking: Walking) -> None:
        self._walking, self._number = walking, 0
        self._base: dict[str, str] = {}
        self.at_m: dict[str, Point] = {}

    def down(self, thing: str, relation: Relation, place: str) -> None:
        """One more thing is put down."""
        self._number += 1
        self._base[thing] = self.base_of(place)
        piece = self._walking.sized(place).piece
        if piece is not None:
            size_m = self._walking.sized(thing).size_m
            self.at_m[thing] = spot_at_piece(self._number, piece, relation, size_m)[:2]

    def base_of(self, name: str) -> str:
        """The furniture that something was put on or in, maybe with what it is in; else itself."""
        return self._base.get(name, name)


@dataclass(frozen=True, slots=True)
class _Gap:
    """The distance of points from a box, seen from above."""

    x_m: float
    y_m: float
    half_x_m: float
    half_y_m: float

    def __call__(self, point: Point) -> float:
        dx = abs(point[0] - self.x_m) - self.half_x_m
        dy = abs(point[1] - self.y_m) - self.half_y_m
        return math.hypot(max(dx, 0.0), max(dy, 0.0))


def _middle(polygon_m: Sequence[Point]) -> Point:
    xs, ys = [x for x, _ in polygon_m], [y for _, y in polygon_m]
    return ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
