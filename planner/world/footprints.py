"""Footprints of rotated boxes as shapely polygons, vectorised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from planner.world.geometry import FloatArray
from planner.world.house import Furniture, ObjectPlacement

_SIGNS = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])


def turned_corners(centers_m: FloatArray, sizes_m: FloatArray, yaws_rad: FloatArray) -> FloatArray:
    """(n, 4, 2) corners of rectangles given by (n, 2) middles and sizes and (n,) yaws."""
    local = _SIGNS[None] * (sizes_m / 2)[:, None]
    c, s = np.cos(yaws_rad)[:, None], np.sin(yaws_rad)[:, None]
    x = local[..., 0] * c - local[..., 1] * s
    y = local[..., 0] * s + local[..., 1] * c
    corners: FloatArray = np.stack([x, y], axis=-1) + centers_m[:, None]
    return corners


def furniture_corners(pieces: Sequence[Furniture], grown_m: float = 0.0) -> FloatArray:
    """(n, 4, 2) floor corners of furniture in the map, each side moved out by `grown_m`."""
    rows = np.array(
        [(p.x_m, p.y_m, p.size_m[0], p.size_m[1], p.yaw_rad) for p in pieces], dtype=np.float64
    ).reshape(-1, 5)
    return turned_corners(rows[:, :2], rows[:, 2:4] + 2 * grown_m, rows[:, 4])


def object_corners(things: Sequence[ObjectPlacement], grown_m: float = 0.0) -> FloatArray:
    """(n, 4, 2) corners of the undersides of things in the map."""
    rows = np.array(
        [(t.pose[0], t.pose[1], t.size_m[0], t.size_m[1], t.pose[3]) for t in things],
        dtype=np.float64,
    ).reshape(-1, 5)
    return turned_corners(rows[:, :2], rows[:, 2:4] + 2 * grown_m, rows[:, 4])


def polygons(corners: FloatArray) -> list[shapely.Polygon]:
    """The (n, 4, 2) corners as n polygons."""
    return list(np.atleast_1d(np.asarray(shapely.polygons(corners), dtype=np.object_)))


def overlapping_pairs(corners: FloatArray) -> NDArray[np.intp]:
    """(m, 2) indices i < j of rectangles, given by (n, 4, 2) corners, that meet."""
    if not len(corners):
        return np.empty((0, 2), np.intp)
    shapes = polygons(corners)
    pairs = shapely.STRtree(shapes).query(shapes, predicate="intersects").T
    return np.asarray(pairs[pairs[:, 0] < pairs[:, 1]], dtype=np.intp)
