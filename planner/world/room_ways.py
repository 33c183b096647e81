"""Paths through the rooms of a house, from door to door, ignoring obstacles.

The graph world walks by them, and who compares plans before they are carried out measures by them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from planner.world.house import House

Point = tuple[float, float]

# A walk ends at this distance from a target's box.
STAND_M = 0.6


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


def stopped(start: Point, goal: Point, gap_m: Callable[[Point], float]) -> Point:
    """Where a straight walk to the centre of something stops: at `STAND_M` from its box.

    Args:
        start: of the straight part, such as the last door.
        goal: the centre.
        gap_m: a point's distance from the box.
    """
    if gap_m(start) <= STAND_M:
        return start
    low, high = 0.0, 1.0
    # The gap decreases all the way.
    for _ in range(12):
        share = (low + high) / 2
        point = (
            start[0] + (goal[0] - start[0]) * share,
            start[1] + (goal[1] - start[1]) * share,
        )
        low, high = (share, high) if gap_m(point) > STAND_M else (low, share)
    return (start[0] + (goal[0] - start[0]) * high, start[1] + (goal[1] - start[1]) * high)
