"""Which rooms are joined by doors, and where in the shared wall each door is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.houses.rectangles import Rect, Wall, outer_walls, shared_wall
from planner.houses.room_program import RoomRule, Zone
from planner.world.errors import PlannerError

_CORNER_GAP_M = 0.2
_MIN_WIDTH_M = 0.9
_UNWANTED = 30.0
_HUB_FIRST = {Zone.PASSAGE: 0, Zone.PUBLIC: 1, Zone.PRIVATE: 2, Zone.SERVICE: 3}
# People avoid walking through a bedroom or a bathroom to reach another room.
_THROUGH_COST = {Zone.PASSAGE: 0.0, Zone.PUBLIC: 0.6, Zone.PRIVATE: 6.0, Zone.SERVICE: 12.0}


@dataclass(frozen=True, slots=True)
class DoorPlan:
    """An opening: one room and the outside, or two rooms; metres and radians of the map."""

    rooms: tuple[str, ...]
    center_m: tuple[float, float]
    yaw_rad: float
    width_m: float


@dataclass(frozen=True, slots=True)
class DoorTree:
    """The doors that connect every room, and how unlikely they are in a real house."""

    cost: float
    edges: list[tuple[str, str]]


def _usable_walls(rects: Mapping[str, Rect]) -> dict[tuple[str, str], Wall]:
    names = list(rects)
    walls = {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            wall = shared_wall(rects[a], rects[b])
            if wall is not None and wall.length >= _MIN_WIDTH_M + 2 * _CORNER_GAP_M - 1e-9:
                walls[a, b] = wall
    return walls


def connect(rects: Mapping[str, Rect], rules: Mapping[str, RoomRule]) -> DoorTree | None:
    """Grows a tree of doors from the hallway or living room, the most natural door first.

    Returns:
        None if some room shares no wall long enough for a door.
    """
    neighbours: dict[str, list[str]] = {name: [] for name in rects}
    for a, b in _usable_walls(rects):
        neighbours[a].append(b)
        neighbours[b].append(a)
    root = min(rects, key=lambda name: (_HUB_FIRST[rules[name].zone], -rects[name].area_m2))
    reached = [root]
    edges: list[tuple[str, str]] = []
    total = 0.0
    while len(reached) < len(rects):
        best = (math.inf, "", "")
        for parent in reached:
            for child in neighbours[parent]:
                if child not in reached:
                    best = min(best, (_door_cost(rules[parent], rules[child]), parent, child))
        if math.isinf(best[0]):
            return None
        total += best[0]
        edges.append((best[1], best[2]))
        reached.append(best[2])
    return DoorTree(total, edges)


def _door_cost(parent: RoomRule, child: RoomRule) -> float:
    """How unnatural it is to enter the child's room from the parent's."""
    if parent.room in child.entered_from:
        return child.entered_from[parent.room]
    return 1.0 + _THROUGH_COST[parent.zone] + (0.0 if child.entered_from == {} else 1.0)


def place_doors(
    rects: Mapping[str, Rect],
    rules: Mapping[str, RoomRule],
    edges: Sequence[tuple[str, str]],
    rng: np.random.Generator,
) -> tuple[DoorPlan, ...]:
    """Doors for the tree, and for further pairs of rooms that are often connected."""
    walls = _usable_walls(rects)
    joined = [pair if pair in walls else (pair[1], pair[0]) for pair in edges]
    for pair in walls:
        both_public = all(rules[name].zone is Zone.PUBLIC for name in pair)
        if pair not in joined and both_public and rng.random() < 0.6:
            joined.append(pair)
    doors = []
    for pair in joined:
        public = all(rules[name].zone in (Zone.PUBLIC, Zone.PASSAGE) for name in pair)
        doors.append(_door(pair, walls[pair], public, rng))
    return tuple(doors)


def _door(rooms: tuple[str, ...], wall: Wall, wide: bool, rng: np.random.Generator) -> DoorPlan:
    max_width = wall.length - 2 * _CORNER_GAP_M
    wished = float(rng.uniform(1.1, 1.4)) if wide else float(rng.uniform(0.9, 1.0))
    width = round(max(_MIN_WIDTH_M, min(max_width, wished)) - 1e-9, 2)
    low = wall.low + _CORNER_GAP_M + width / 2
    high = wall.high - _CORNER_GAP_M - width / 2
    spots = (low, high, (low + high) / 2)
    along = spots[int(rng.choice(3, p=(0.25, 0.25, 0.5) if wide else (0.42, 0.42, 0.16)))]
    along = round(min(max(along, low), high), 3)
    center = (along, wall.at) if wall.axis == "x" else (wall.at, along)
    return DoorPlan(rooms, center, 0.0 if wall.axis == "x" else math.pi / 2, width)


def entrance(
    rects: Mapping[str, Rect], rules: Mapping[str, RoomRule], doors: Sequence[DoorPlan]
) -> DoorPlan:
    """The front door, in the middle of an outer wall of the entrance room.

    Raises:
        PlannerError: if no room has an outer wall long enough.
    """
    order = sorted(rects, key=lambda name: (rules[name].entrance, -rects[name].area_m2))
    for name in order:
        others = [rect for other, rect in rects.items() if other != name]
        for wall in outer_walls(rects[name], others):
            if wall.length >= 1.0 + 2 * _CORNER_GAP_M:
                along = _clear_of_doors(wall, doors, name)
                center = (along, wall.at) if wall.axis == "x" else (wall.at, along)
                yaw = 0.0 if wall.axis == "x" else math.pi / 2
                return DoorPlan((name,), center, yaw, 1.0)
    raise PlannerError("no room has an outer wall for the entrance")


def _clear_of_doors(wall: Wall, doors: Sequence[DoorPlan], room: str) -> float:
    """The position nearest to an inner door, so that paths between doors are short."""
    low, high = wall.low + _CORNER_GAP_M + 0.5, wall.high - _CORNER_GAP_M - 0.5
    inner = [door.center_m for door in doors if room in door.rooms]
    spots = [round(spot, 3) for spot in (low, (low + high) / 2, high)]

    def nearest(along: float) -> float:
        point = (along, wall.at) if wall.axis == "x" else (wall.at, along)
        return min((math.dist(point, center) for center in inner), default=0.0)

    return min(spots, key=nearest)
