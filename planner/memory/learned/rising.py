"""What rises from furniture, by depth and layout alone, whether or not its colours stand out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.network import Array
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, Surface

# A point counts if it is so far inside the edge of a surface, above its top and below what is next
# above it; things are no higher than this.
_INSIDE_M, _ABOVE_M, _HIGHEST_M = 0.04, 0.012, 0.4
# Other furniture may stand on it, such as a microwave on a counter.
_BESIDE_M = 0.03
# Farther away a cell shows more than a small thing.
_REACH_M = 3.0


class Rising:
    """Knows where the surfaces of one house are."""

    def __init__(self, layout: House) -> None:
        """Takes the house's layout, which the robot knows."""
        pairs = [(piece, surface) for piece in layout.furniture for surface in piece.surfaces]
        self._surfaces = [_Patch(layout, piece, surface) for piece, surface in pairs]

    def of(self, points_m: Array, camera_m: Vec3) -> NDArray[np.bool_]:
        """Which of (n, 3) points of `map` rise from a surface near the camera."""
        found = np.zeros(len(points_m), bool)
        for patch in self._surfaces:
            if patch.distance_m(camera_m) <= _REACH_M:
                patch.mark(points_m, found)
        return found


class _Patch:
    """One surface, and the boxes of other furniture on it."""

    def __init__(self, layout: House, piece: Furniture, surface: Surface) -> None:
        self._piece = piece
        self._center_m = piece.pose.apply(surface.center)
        along = piece.pose.apply((surface.center[0] + 1.0, surface.center[1], surface.center[2]))
        self._yaw = math.atan2(along[1] - self._center_m[1], along[0] - self._center_m[0])
        self._half_m = tuple(extent / 2 - _INSIDE_M for extent in surface.size)
        self._radius_m = math.hypot(*surface.size) / 2
        top_m = self._center_m[2]
        self._low_m = top_m + _ABOVE_M
        self._high_m = top_m + min(surface.clearance - _ABOVE_M, _HIGHEST_M)
        self._others = [
            (np.array(p.box.minimum_m) - _BESIDE_M, np.array(p.box.maximum_m) + _BESIDE_M)
            for p in layout.furniture
            if p is not piece
            and p.box.maximum_m[2] > self._low_m
            and p.box.minimum_m[2] < self._high_m
            and p.box.distance_m(self._center_m) < self._radius_m
        ]

    def distance_m(self, camera_m: Vec3) -> float:
        return math.dist(camera_m, self._center_m) - self._radius_m

    def mark(self, points_m: Array, found: NDArray[np.bool_]) -> None:
        """Sets those of `found` whose points rise from it."""
        heights = points_m[:, 2]
        near = np.flatnonzero((heights >= self._low_m) & (heights <= self._high_m) & ~found)
        away = points_m[near, :2] - np.array(self._center_m[:2], points_m.dtype)
        cos, sin = math.cos(self._yaw), math.sin(self._yaw)
        x, y = away[:, 0] * cos + away[:, 1] * sin, away[:, 1] * cos - away[:, 0] * sin
        near = near[(np.abs(x) <= self._half_m[0]) & (np.abs(y) <= self._half_m[1])]
        for low, high in self._others:
            inside = ((points_m[near] >= low) & (points_m[near] <= high)).all(axis=1)
            near = near[~inside]
        found[near] = True
