"""Shortest ways over a house's free floor, one at a time; they are sought in ways.c."""

from __future__ import annotations

import math
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import FloatArray
from sim_bridge.embedded.compiled import ffi, flags, floats, lib, numbers

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Grid, Integers, Pointer

# x, y and radius in metres, in the map frame.
Discs = Sequence[tuple[float, float, float]]


class CellPath(NamedTuple):
    """A way over a grid.

    Attributes:
        cells: its cells or its corners, the first and the last included; none where there is no
            way.
        length_m: from cell to cell; inf where there is no way.
    """

    cells: list[int]
    length_m: float


NO_PATH = CellPath([], math.inf)


class PathSearch:
    """Ways over one grid. They go to the eight cells around one, and never cut a corner.

    Of ways that are equally short the same one is always found. Cells are numbered as in the grid;
    of one that it has not comes an IndexError.
    """

    def __init__(self, grid: FloorGrid) -> None:
        # Python's other threads go on while C runs, and there is room for one search.
        self._room = Lock()
        self._cell_m, self._count = grid.cell_m, grid.free.size
        count = self._count
        self._grid = cast("Grid", ffi.new("Grid *"))
        self._grid.rows, self._grid.columns = grid.free.shape
        self._grid.x_m, self._grid.y_m = grid.origin_m
        self._grid.cell_m = grid.cell_m
        # The structure keeps none of the arrays alive that it points to.
        self._kept: list[Pointer] = []

        def room() -> Integers:
            self._kept.append(made := numbers(np.zeros(count, np.int32)))
            return made

        self._grid.gone, self._grid.before = room(), room()
        self._grid.place, self._grid.heap = room(), room()
        self._grid.free = free = flags(np.ascontiguousarray(grid.free))
        self._grid.state = state = flags(np.zeros(count, np.bool_))
        self._grid.order = order = ffi.from_buffer("uint64_t[]", np.zeros(count, np.uint64))
        self._kept += [free, state, order]
        self._cells, self._length = room(), floats(np.zeros(1))

    def between(self, start: int, goal: int, discs: Discs = ()) -> CellPath:
        """The cells of the shortest way between two free ones.

        It keeps out of discs but for its start.
        """
        with self._room:
            return self._result(self._found(start, goal, discs))

    def corners(self, start: int, goal: int) -> CellPath:
        """Of the same way only the cells where it turns once it is as straight as it may be."""
        with self._room:
            found = self._found(start, goal, ())
            return self._result(lib.straighten(self._grid, self._cells, found))

    def off(self, start: int, points_m: FloatArray, gap_m: float, discs: Discs = ()) -> list[int]:
        """The cells of the shortest way to one farther than a gap from (n, 2) points of the map.

        It keeps out of discs but for its start; empty where no such cell can be walked to.
        """
        self._check(start)
        apart, points = _three(discs), np.ascontiguousarray(points_m, np.float64)
        with self._room:
            found = lib.way_off(
                self._grid,
                start,
                floats(points),
                len(points),
                gap_m,
                floats(apart),
                len(apart),
                self._cells,
            )
            return ffi.unpack(self._cells, found)

    def _check(self, *cells: int) -> None:
        """C would read and write anywhere."""
        for cell in cells:
            if not 0 <= cell < self._count:
                raise IndexError(f"there is no cell {cell} among {self._count}")

    def _found(self, start: int, goal: int, discs: Discs) -> int:
        self._check(start, goal)
        apart = _three(discs)
        return lib.way_between(
            self._grid, start, goal, floats(apart), len(apart), self._cells, self._length
        )

    def _result(self, found: int) -> CellPath:
        if not found:
            return NO_PATH
        return CellPath(ffi.unpack(self._cells, found), self._length[0] * self._cell_m)


def _three(discs: Discs) -> NDArray[np.float64]:
    return np.array(discs, np.float64).reshape(-1, 3)
