"""What is known of a floor: cells that are free, occupied, or not yet explored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.floor_grid import BoolGrid, FloorGrid
from planner.world.geometry import Vec3

# The values of nav_msgs/OccupancyGrid.
UNKNOWN, FREE, OCCUPIED = -1, 0, 100

CellGrid = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class FloorMap:
    """A floor's cells at one time.

    Attributes:
        cells: (rows, columns) int8 of `UNKNOWN`, `FREE` and `OCCUPIED`; row is y, column is x.
        origin_m: the lower left corner of the first cell in `map`.
        cell_m: the side of a cell.
        stamp_s: of the newest picture in it, on the world's clock.
    """

    cells: CellGrid
    origin_m: tuple[float, float]
    cell_m: float
    stamp_s: float = 0.0

    def __post_init__(self) -> None:
        """Checks the cells.

        Raises:
            PlannerError: for other than two dimensions, or a cell's side that is not positive.
        """
        if self.cells.ndim != 2 or not self.cells.size:
            raise PlannerError(
                f"a floor map has rows and columns, not the shape {self.cells.shape}"
            )
        if not (math.isfinite(self.cell_m) and self.cell_m > 0):
            raise PlannerError(f"a floor map has cells of a positive side, not {self.cell_m} m")

    def clear(self, radius_m: float) -> BoolGrid:
        """(rows, columns): where a disc of this radius touches no occupied cell's middle."""
        clearance_m = self.cell_m * _cells_to(self.cells == OCCUPIED)
        # Cells are only as exact as their half; without it, a gap of the body's own width closes.
        found: BoolGrid = clearance_m >= radius_m - self.cell_m / 2
        return found

    def walkable(self, radius_m: float) -> FloorGrid:
        """The explored floor on which the centre of a body of this radius may be."""
        free = (self.cells == FREE) & self.clear(radius_m)
        return FloorGrid(free, self.origin_m, self.cell_m)

    def at(self, point_m: Vec3) -> int:
        """The value of the cell that contains a point; `UNKNOWN` outside the map."""
        row = math.floor((point_m[1] - self.origin_m[1]) / self.cell_m)
        column = math.floor((point_m[0] - self.origin_m[0]) / self.cell_m)
        rows, columns = self.cells.shape
        inside = 0 <= row < rows and 0 <= column < columns
        return int(self.cells[row, column]) if inside else UNKNOWN

    def occupied_at(self, points_m: Iterable[Vec3]) -> FloorMap:
        """The same map where there is something at these points, too."""
        cells = self.cells.copy()
        rows, columns = cells.shape
        for x, y, _ in points_m:
            row = math.floor((y - self.origin_m[1]) / self.cell_m)
            column = math.floor((x - self.origin_m[0]) / self.cell_m)
            if 0 <= row < rows and 0 <= column < columns:
                cells[row, column] = OCCUPIED
        return replace(self, cells=cells)

    @property
    def explored_m2(self) -> float:
        """The area of the cells that are known."""
        return float((self.cells != UNKNOWN).sum()) * self.cell_m**2


def _cells_to(occupied: BoolGrid) -> NDArray[np.float32]:
    """The distance of each cell's middle to that of the nearest occupied one, in cells."""
    if not occupied.any():
        return np.full(occupied.shape, np.inf, np.float32)
    distance = cv2.distanceTransform(
        (~occupied).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE
    )
    return np.asarray(distance, np.float32)


@lru_cache(maxsize=16)
def disc(radius_cells: float) -> NDArray[np.int64]:
    """(n, 2) offsets of row and column of the cells within a radius of a cell."""
    reach = math.floor(radius_cells)
    span = np.arange(-reach, reach + 1)
    rows, columns = np.meshgrid(span, span, indexing="ij")
    inside = np.hypot(rows, columns) <= radius_cells
    return np.stack([rows[inside], columns[inside]], axis=1)
