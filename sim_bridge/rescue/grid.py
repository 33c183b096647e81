"""Cells and directions of the grid: x to the right, y down, the origin at the top left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import TypeAlias

Cell: TypeAlias = tuple[int, int]

SIZE = 30
# The radius of reservoirs, deposits and agents: the diagonal of a 3 by 3 block in whole cells, as
# the published code compares it (LLAMAR-A2).
NEAR = math.floor(3 * math.sqrt(2))


class Direction(StrEnum):
    """The directions of `Move`."""

    UP = "Up"
    DOWN = "Down"
    LEFT = "Left"
    RIGHT = "Right"
    CENTER = "Center"

    @property
    def offset(self) -> Cell:
        """The cell that it leads to, from (0, 0)."""
        return _OFFSETS[self]


_OFFSETS = {
    Direction.UP: (0, -1),
    Direction.DOWN: (0, 1),
    Direction.LEFT: (-1, 0),
    Direction.RIGHT: (1, 0),
    Direction.CENTER: (0, 0),
}
# The directions in which an agent explores, clockwise, from up.
HEADINGS: tuple[Cell, ...] = (
    (0, -1),
    (1, -1),
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
)


def is_inside(cell: Cell) -> bool:
    """Whether a cell is on the grid."""
    return 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE


def away(cell: Cell, other: Cell) -> float:
    """The Euclidean distance of two cells, in cells."""
    return math.hypot(cell[0] - other[0], cell[1] - other[1])


def block(cell: Cell) -> Iterator[Cell]:
    """The 3 by 3 cells around one, row by row; some may be outside the grid."""
    x, y = cell
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            yield (x + dx, y + dy)


@cache
def offsets_by_distance(radius: float) -> tuple[Cell, ...]:
    """All offsets up to a distance, the nearest first, then row by row."""
    reach = math.floor(radius)
    found = [
        (dx, dy)
        for dy in range(-reach, reach + 1)
        for dx in range(-reach, reach + 1)
        if math.hypot(dx, dy) <= radius
    ]
    return tuple(sorted(found, key=lambda d: (d[0] ** 2 + d[1] ** 2, d[1], d[0])))
