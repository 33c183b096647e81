"""Shortest paths over a house's free floor; the search is in ways.c."""

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
    """A path over a grid.

    Attributes:
        cells: its cells or its corners, including both ends; empty if there is no path.
        length_m: from cell to cell; inf if there is no path.
    """

    cells: list[int]
    length_m: float


NO_PATH = CellPath([], math.inf)


class PathSearch:
    """Path search on one grid, 8-connected, without cutting corners.

    Of equally short paths the same one is always found. Cells are numbered as in the grid; an
    unknown cell raises IndexError.
    """

    def __init__(self, grid: FloorGrid) -> None:
        # Other Python threads run while C does, and there is memory for one search.
        self._room = Lock()
        self._cell_m, self._count = grid.cell_m, grid.free.size
        count = self._count
        self._grid = cast("Grid", ffi.new("Grid *"))
        self._grid.rows, self._grid.columns = grid.free.shape
        self._grid.x_m, self._grid.y_m = grid.origin_m
        self._grid.cell_m = grid.cell_m
        # C structures do not keep the arrays alive that they point to.
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
        """The cells of the shortest path between two free ones.

        It avoids discs except around its start.
        """
        with self._room:
            return self._result(self._found(start, goal, discs))

    def corners(self, start: int, goal: int) -> CellPath:
        """The corners of the same path after straightening."""
        with self._room:
            found = self._found(start, goal, ())
            return self._result(lib.straighten(self._grid, self._cells, found))

    def off(self, start: int, points_m: FloatArray, gap_m: float, discs: Discs = ()) -> list[int]:
        """The cells of the shortest path to one farther than a gap from (n, 2) points of the map.

        It avoids discs except around its start; empty if no such cell can be reached.
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
        """C does not check bounds."""
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
