"""Where the robot may start: free floor of every room (ETPLAN-1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from planner.world.agents import default_bodies
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.vocabulary import AgentKind

# As VirtualHome's characters, which have two hands.
BODY = AgentKind.HUMAN
_A_ROOM = 24
_MARGIN_M = 0.05

Pose2D: TypeAlias = tuple[float, float, float]


def starts_of(house: House) -> Mapping[str, tuple[Pose2D, ...]]:
    """Poses [x, y, yaw] by room; a room without free floor has none, a graph's the middle."""
    if house.graph is not None:
        return {room.name: (_middle(room.polygon_m),) for room in house.rooms}
    rng = np.random.default_rng([house.seed or 0, 7])
    grid = FloorGrid.of(house, default_bodies()[BODY].radius_m + _MARGIN_M)
    points = grid.free_points_m
    parts = np.array([grid.component(x, y) for x, y in points])
    largest = np.bincount(parts).argmax() if len(parts) else 0
    found: dict[str, list[Pose2D]] = {room.name: [] for room in house.rooms}
    for index in rng.permutation(np.flatnonzero(parts == largest)):
        x, y = (round(float(at), 3) for at in points[index])
        room = house.room_at(x, y)
        if room is not None and len(found[room]) < _A_ROOM:
            found[room].append((x, y, round(float(rng.uniform(-np.pi, np.pi)), 3)))
    return {name: tuple(poses) for name, poses in found.items() if poses}


def _middle(polygon_m: tuple[tuple[float, float], ...]) -> Pose2D:
    xs, ys = [x for x, _ in polygon_m], [y for _, y in polygon_m]
    return (round((min(xs) + max(xs)) / 2, 3), round((min(ys) + max(ys)) / 2, 3), 0.0)
