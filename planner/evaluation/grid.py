"""A grid over the floor plan, by which a scene finds what may be below a point.

Frame `map`, metres.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from planner.world.geometry import Box

# Tolerance for floating-point rounding.
EPSILON_M = 1e-6
CELL_M = 1.0

# Column and row.
Cell = tuple[int, int]
# First and last column, first and last row.
CellRange = tuple[int, int, int, int]


def cell_at(x_m: float, y_m: float) -> Cell:
    """The cell of a point."""
    return (math.floor(x_m / CELL_M), math.floor(y_m / CELL_M))


def cell_range(box: Box) -> CellRange:
    """The cells that a box covers."""
    (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
    return range_of(x0, y0, x1, y1)


def range_of(x0: float, y0: float, x1: float, y1: float) -> CellRange:
    """The cells that a rectangle covers."""
    floor = math.floor
    return (
        floor((x0 - EPSILON_M) / CELL_M),
        floor((x1 + EPSILON_M) / CELL_M),
        floor((y0 - EPSILON_M) / CELL_M),
        floor((y1 + EPSILON_M) / CELL_M),
    )


def cells_in(cells: CellRange) -> Iterator[Cell]:
    """All cells of a range."""
    x0, x1, y0, y1 = cells
    return itertools.product(range(x0, x1 + 1), range(y0, y1 + 1))
