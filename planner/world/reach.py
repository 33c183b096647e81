"""Whether agents can walk to everything and reach it."""

from __future__ import annotations

import weakref

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from planner.world.agents import default_bodies
from planner.world.floor_grid import FloorGrid, door_corners
from planner.world.geometry import FloatArray
from planner.world.house import House

# Tolerance: an agent stops on the middle of a cell and not exactly on target.
REACH_MARGIN_M = 0.15
_COMFORT_MARGIN_M = 0.1
# Cached houses; one takes some two megabytes.
_MAX_CACHED = 16
# Remembered points of a house: most episodes of one have most things at the same places.
_MAX_POINTS = 4096


class Reach:
    """The walkable floor of a house and the distance to it, for the most limited kind of body."""

    def __init__(self, house: House, grid: FloorGrid | None = None) -> None:
        """`grid` may be passed if the caller already has it."""
        bodies = default_bodies().values()
        self.radius_m = max(body.radius_m for body in bodies)
        self.reach_m = min(body.reach_m for body in bodies) - REACH_MARGIN_M
        self.low_m = max(body.reach_height_m[0] for body in bodies)
        self.high_m = min(body.reach_height_m[1] for body in bodies)
        self.grid = grid or FloorGrid.of(house, self.radius_m)
        self.walkable = _largest(self.grid.components)
        # (n, 2) middles of the walkable cells in the map frame, in the order of `walkable`.
        self._stands_m = self.grid.free_points_m[self.walkable[self.grid.free]]
        self._gap_cells = _gaps(self.walkable)
        self._walls = walls_of(house)
        shapely.prepare(self._walls)
        self._known: dict[tuple[float, float], bool] = {}

    def gap_m(self, x_m: float, y_m: float) -> float:
        """Distance from a point of the map to the walkable floor; infinite off the grid."""
        cell = self.grid.cell(x_m, y_m)
        return (
            float("inf") if cell is None else float(self._gap_cells.flat[cell]) * self.grid.cell_m
        )

    def to_point(self, x_m: float, y_m: float, z_m: float) -> bool:
        """Whether every kind of body can reach the point, and not through a wall."""
        near = self.at_height(z_m) and self.gap_m(x_m, y_m) <= self.reach_m
        return near and self._past_walls(x_m, y_m)

    def _past_walls(self, x_m: float, y_m: float) -> bool:
        """Whether no wall is between the point and some walkable cell within reach of it."""
        found = self._known.get((x_m, y_m))
        if found is None:
            if len(self._known) >= _MAX_POINTS:
                self._known.clear()
            found = self._known[x_m, y_m] = self._sees_floor(x_m, y_m)
        return found

    def _sees_floor(self, x_m: float, y_m: float) -> bool:
        away_m = np.hypot(self._stands_m[:, 0] - x_m, self._stands_m[:, 1] - y_m)
        near = away_m <= self.reach_m + self.grid.cell_m
        ends = self._stands_m[near]
        if not len(ends):
            return False
        # Usually the nearest cell is enough.
        nearest = ends[away_m[near].argmin()]
        if not shapely.intersects(self._walls, shapely.LineString([(x_m, y_m), nearest])):
            return True
        starts = np.broadcast_to((x_m, y_m), ends.shape)
        lines = shapely.linestrings(np.stack([starts, ends], axis=1))
        return not bool(shapely.intersects(self._walls, lines).all())

    def comfortable(self, x_m: float, y_m: float, z_m: float) -> bool:
        """Like `to_point`, with a margin for inaccuracy."""
        return self.at_height(z_m) and self.gap_m(x_m, y_m) <= self.reach_m - _COMFORT_MARGIN_M

    def at_height(self, z_m: float) -> bool:
        """Whether the height is within every kind of body's reach."""
        return self.low_m <= z_m <= self.high_m

    def to_any(self, points_m: FloatArray) -> bool:
        """Whether one of the (n, 2) points is within horizontal reach, and not through a wall."""
        return any(
            self.gap_m(x, y) <= self.reach_m and self._past_walls(x, y)
            for x, y in points_m.tolist()
        )

    def enters(self, polygon_m: tuple[tuple[float, float], ...]) -> bool:
        """Whether there is walkable floor in a room's polygon."""
        mask = np.zeros(self.walkable.shape, np.uint8)
        cells = (np.array(polygon_m) - self.grid.origin_m) / self.grid.cell_m - 0.5
        cv2.fillPoly(mask, [np.rint(cells).astype(np.int32)], 1)
        return bool((self.walkable & (mask > 0)).any())


_cache: dict[int, tuple[weakref.ref[House], Reach]] = {}


def reach_of(house: House) -> Reach:
    """The reach of a house, without its objects; cached while the house is in use.

    The most recently used houses are cached, none longer than its caller keeps it.
    """
    key = id(house)
    owner, reach = _cache.pop(key, (None, None))
    if owner is None or reach is None or owner() is not house:
        owner, reach = weakref.ref(house, lambda _: _cache.pop(key, None)), Reach(house)
        while len(_cache) >= _MAX_CACHED:
            _cache.pop(next(iter(_cache)), None)
    _cache[key] = owner, reach
    return reach


def walls_of(house: House) -> shapely.Geometry:
    """The centre lines of all walls without door openings."""
    lines = shapely.union_all([room.shape.exterior for room in house.rooms])
    doors = [shapely.Polygon(door_corners(door)) for door in house.doors if len(door.rooms) == 2]
    return shapely.difference(lines, shapely.union_all(doors))


def _largest(components: NDArray[np.int32]) -> NDArray[np.bool_]:
    sizes = np.bincount(components.ravel())
    if len(sizes) < 2:
        return np.zeros(components.shape, np.bool_)
    largest: NDArray[np.bool_] = components == 1 + int(np.argmax(sizes[1:]))
    return largest


def _gaps(walkable: NDArray[np.bool_]) -> NDArray[np.float32]:
    if not walkable.any():
        return np.full(walkable.shape, np.inf, np.float32)
    gaps = cv2.distanceTransform((~walkable).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(gaps, dtype=np.float32)
