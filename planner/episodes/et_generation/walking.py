"""How far a plan leads before anybody carries it out: through doors, as the graph world walks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.episodes.et_generation.house_facts import Entity, HouseFacts
from planner.world.geometry import Vec3
from planner.world.room_ways import Point, Ways, length_m, stopped


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
        self._sizes: dict[str, Vec3] = {item.name: item.size_m for item in facts.house.objects}
        self._middles = {room.name: _middle(room.polygon_m) for room in facts.house.rooms}
        self._between: dict[tuple[str, str], float] = {}
        self._legs: dict[tuple[Point, str, str], tuple[float, Point] | None] = {}

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
        size_m = self._sizes.get(name)
        return entity if size_m is None else replace(entity, size_m=size_m)

    def plan_m(self, start: Stand, plan: Sequence[str]) -> float:
        """The length of a plan's walks; inf if there is no way to something."""
        at, room, total = start.at_m, start.room, 0.0
        moved: dict[str, str] = {}
        for call in plan:
            verb, _, rest = call.partition("[")
            if verb == "Place":
                thing, _, place = rest.split(", ")[:3]
                moved[thing] = moved.get(place, place)
            if verb != "Navigate":
                continue
            name = rest[:-1]
            # What was put down is where its place is.
            leg = self._leg(at, room, moved.get(name, name))
            if leg is None:
                return math.inf
            walked_m, at = leg
            room = self._facts.room_of(moved.get(name, name))
            total += walked_m
        return total

    def _leg(self, at: Point, room: str, name: str) -> tuple[float, Point] | None:
        key = (at, room, name)
        if key not in self._legs:
            self._legs[key] = self._walked(at, room, name)
        return self._legs[key]

    def _walked(self, at: Point, room: str, name: str) -> tuple[float, Point] | None:
        way = self._ways.way(room, self._facts.room_of(name), self._at_m(name))
        if way is None:
            return None
        if name not in self._middles:
            end = stopped(way[-2] if len(way) > 1 else at, way[-1], self._gap_of(name))
            way = (*way[:-1], end)
        return length_m(at, way), way[-1]

    def _straight_m(self, at: Point, room: str, name: str) -> float:
        way = self._ways.way(room, self._facts.room_of(name), self._at_m(name))
        return math.inf if way is None else length_m(at, way)

    def _at_m(self, name: str) -> Point:
        if name in self._middles:
            return self._middles[name]
        x, y, _ = self._facts.entities[name].middle_m
        return (x, y)

    def _gap_of(self, name: str) -> _Gap:
        entity = self._facts.entities[name]
        x, y, _ = self._sizes.get(name, entity.size_m)
        return _Gap(*entity.middle_m[:2], x / 2, y / 2)


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
