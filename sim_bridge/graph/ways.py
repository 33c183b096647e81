"""Paths through the rooms of a house, from door to door, ignoring obstacles."""

from __future__ import annotations

import heapq
import math

from planner.world.house import House

Point = tuple[float, float]


class Ways:
    """The doors of a house; paths between rooms are cached."""

    def __init__(self, house: House) -> None:
        self._doors: dict[str, list[tuple[Point, str]]] = {}
        for door in house.doors:
            if len(door.rooms) == 2:
                one, other = door.rooms
                self._doors.setdefault(one, []).append((door.center_m, other))
                self._doors.setdefault(other, []).append((door.center_m, one))
        self._known: dict[tuple[str, str], tuple[Point, ...] | None] = {}

    def way(self, room: str, to_room: str, goal: Point) -> tuple[Point, ...] | None:
        """The points to walk to in order, `goal` last; None if there is no path."""
        if room == to_room:
            return (goal,)
        key = (room, to_room)
        if key not in self._known:
            self._known[key] = self._search(room, to_room)
        doors = self._known[key]
        return None if doors is None else (*doors, goal)

    def _search(self, room: str, to_room: str) -> tuple[Point, ...] | None:
        """The doors of the shortest path, in order."""
        waiting: list[tuple[float, str, tuple[Point, ...]]] = [(0.0, room, ())]
        done: set[tuple[str, Point | None]] = set()
        while waiting:
            length, here, doors = heapq.heappop(waiting)
            if here == to_room:
                return doors
            last = doors[-1] if doors else None
            if (here, last) in done:
                continue
            done.add((here, last))
            for center, other in self._doors.get(here, ()):
                step = math.dist(last, center) if last is not None else 0.0
                heapq.heappush(waiting, (length + step, other, (*doors, center)))
        return None


def length_m(start: Point, way: tuple[Point, ...]) -> float:
    """The length of a path, metres."""
    return sum(math.dist(a, b) for a, b in zip((start, *way[:-1]), way, strict=True))
