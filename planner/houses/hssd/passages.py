"""Derives openings between rooms, which the data set does not list, from gaps in its walls.

The stage's mesh is cut at chest height; if a short line from one room to the next meets no wall
over at least a door's width, there is a passage.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
import shapely
from shapely.geometry import LineString, Point
from shapely.ops import nearest_points

from planner.world.geometry import FloatArray
from planner.world.house import Door, Room

CUT_HEIGHT_M = 1.0
_STEP_M = 0.05
_WALL_M = 0.4
_BEYOND_M = 0.1
_WIDTHS_M = (0.6, 4.0)


def passages(rooms: Sequence[Room], triangles: FloatArray) -> tuple[Door, ...]:
    """The doors of a house.

    Args:
        rooms: of the house.
        triangles: (n, 3, 3) of the stage in `map`.
    """
    walls = shapely.STRtree(_cut(triangles, CUT_HEIGHT_M))
    found: list[Door] = []
    for one, other in itertools.combinations(rooms, 2):
        for start, end in _gaps(one, other, walls):
            width = math.dist(start, end)
            if width < _WIDTHS_M[0]:
                continue
            found.append(
                Door(
                    name=f"door_{len(found)}",
                    rooms=(one.name, other.name),
                    center_m=(
                        round((start[0] + end[0]) / 2, 4),
                        round((start[1] + end[1]) / 2, 4),
                    ),
                    yaw_rad=round(math.atan2(end[1] - start[1], end[0] - start[0]), 6),
                    width_m=round(min(width, _WIDTHS_M[1]), 4),
                )
            )
    return tuple(found)


def _cut(triangles: FloatArray, height_m: float) -> list[LineString]:
    """The intersections of triangles with a height, in plan view."""
    low, high = triangles[:, :, 2].min(axis=1), triangles[:, :, 2].max(axis=1)
    lines = []
    for corners in triangles[(low < height_m) & (high > height_m)]:
        points = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            za, zb = corners[a, 2] - height_m, corners[b, 2] - height_m
            if (za < 0) != (zb < 0):
                points.append((corners[a] + (corners[b] - corners[a]) * (za / (za - zb)))[:2])
        if len(points) == 2:
            lines.append(LineString(points))
    return lines


def _gaps(
    one: Room, other: Room, walls: shapely.STRtree
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The stretches of one room's edge from which no wall separates the other room."""
    near = other.shape.buffer(_WALL_M)
    corners = [*one.polygon_m, one.polygon_m[0]]
    for a, b in itertools.pairwise(corners):
        length = math.dist(a, b)
        steps = max(int(length / _STEP_M), 1)
        free: list[tuple[float, float]] = []
        for step in range(steps + 1):
            share = step / steps
            point = (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
            if near.contains(Point(point)) and _passes(point, a, b, other, walls):
                free.append(point)
                continue
            if len(free) > 1:
                yield free[0], free[-1]
            free = []
        if len(free) > 1:
            yield free[0], free[-1]


def _passes(
    point: tuple[float, float],
    a: tuple[float, float],
    b: tuple[float, float],
    other: Room,
    walls: shapely.STRtree,
) -> bool:
    """Whether the straight line through the wall into the other room is free."""
    along = np.array([b[0] - a[0], b[1] - a[1]])
    across = np.array([-along[1], along[0]]) / np.linalg.norm(along)
    target = np.array(nearest_points(Point(point), other.shape)[1].coords[0])
    toward = target - point
    if np.linalg.norm(toward) > 1e-9 and abs(across @ toward) < 0.7 * np.linalg.norm(toward):
        return False
    inside = np.array(point) + across * (abs(across @ toward) + _BEYOND_M)
    if not other.shape.contains(Point(inside)):
        across = -across
        inside = np.array(point) + across * (abs(across @ toward) + _BEYOND_M)
        if not other.shape.contains(Point(inside)):
            return False
    way = LineString([np.array(point) - across * _BEYOND_M, inside])
    return not len(walls.query(way, predicate="intersects"))
