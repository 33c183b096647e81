"""Where things may lie on the floor: next to walls and furniture, never in the way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import cv2
import numpy as np
import shapely

from planner.world.floor_grid import WALL_THICKNESS_M, connected_parts, door_corners
from planner.world.footprints import furniture_corners, polygons
from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.reach import reach_of

_SAMPLES = 40
_GAP_M = 0.03
_DOOR_M = 1.6
_FRONT_M = 0.6


class OpenFloor:
    """The walkable floor of a house, which shrinks with everything put on it."""

    def __init__(self, house: House, taken: Iterable[ObjectPlacement] = ()) -> None:
        """`taken` are the objects already in the furnished house."""
        self._house = house
        self.reach = reach_of(house)
        self._grid = self.reach.grid
        self._walkable = self.reach.walkable.copy()
        self._lying = [p for p in taken if p.part == "floor"]

    @cached_property
    def _blocked(self) -> list[shapely.Polygon]:
        # Built on first use, since most callers put nothing on the floor.
        house = self._house
        shapes = polygons(furniture_corners(house.furniture))
        shapes += [shapely.Polygon(door_corners(door, _DOOR_M)) for door in house.doors]
        shapes += [_front(piece) for piece in house.furniture if piece.joints]
        shapes += [_disc(p.pose[0], p.pose[1], p.size_m) for p in self._lying]
        return shapes

    def put(
        self, room: str, size_m: Vec3, rng: np.random.Generator
    ) -> tuple[float, float, float] | None:
        """Reserves a free spot for a thing: (x, y, yaw) in the map, or None if there is none."""
        area = self._house.rooms_by_name[room].shape.buffer(-WALL_THICKNESS_M / 2 - 0.02)
        x0, y0, x1, y1 = area.bounds
        half = math.hypot(size_m[0], size_m[1]) / 2
        points = rng.uniform((x0 + half, y0 + half), (x1 - half, y1 - half), (_SAMPLES, 2))
        yaws = np.round(rng.uniform(-math.pi, math.pi, _SAMPLES), 4)
        blocked = shapely.STRtree(self._blocked)
        discs = shapely.buffer(shapely.points(points), half + _GAP_M)
        clear = np.ones(_SAMPLES, np.bool_)
        clear[np.unique(blocked.query(discs, predicate="intersects")[0])] = False
        clear &= shapely.contains_properly(area, shapely.buffer(shapely.points(points), half))
        depth = self._depth_cells()
        order = sorted(np.flatnonzero(clear), key=lambda i: self._openness(points[i], depth))
        for i in order[:8]:
            x, y = round(float(points[i][0]), 4), round(float(points[i][1]), 4)
            reached = self.reach.to_point(x, y, self.reach.low_m)
            if reached and self._stays_connected(x, y, half):
                self._blocked.append(_disc(x, y, size_m))
                return x, y, float(yaws[i])
        return None

    def _depth_cells(self) -> FloatArray:
        walkable = self._walkable.astype(np.uint8)
        depth = cv2.distanceTransform(walkable, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        return np.asarray(depth, dtype=np.float64)

    def _openness(self, point: FloatArray, depth: FloatArray) -> float:
        """A point's depth in the walkable floor, cells; infinite if out of reach."""
        x, y = float(point[0]), float(point[1])
        if not self.reach.comfortable(x, y, self.reach.low_m):
            return math.inf
        cell = self._grid.cell(x, y)
        return math.inf if cell is None else float(depth.flat[cell])

    def _stays_connected(self, x: float, y: float, half_m: float) -> bool:
        remaining = self._walkable.copy()
        remaining.flat[self._grid.free_within(x, y, half_m + self.reach.radius_m)] = False
        labels = connected_parts(remaining)
        sizes = np.bincount(labels.ravel())[1:]
        if not len(sizes) or sizes.sum() - sizes.max() > 2:
            return False
        self._walkable = remaining
        return True


def _front(piece: Furniture) -> shapely.Polygon:
    """The floor needed by opening doors and drawers and by agents that open them."""
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    half_x, half_y = piece.size_m[0] / 2, piece.size_m[1] / 2
    corners = ((half_x, -half_y), (half_x + _FRONT_M, -half_y), (half_x + _FRONT_M, half_y))
    return shapely.Polygon(
        [
            (piece.x_m + x * c - y * s, piece.y_m + x * s + y * c)
            for x, y in (*corners, (half_x, half_y))
        ]
    )


def _disc(x: float, y: float, size_m: Sequence[float]) -> shapely.Polygon:
    return shapely.Point(x, y).buffer(math.hypot(size_m[0], size_m[1]) / 2, quad_segs=4)
