"""Compiled ways are the shortest: as long as the floor grid's plain distance fields have them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import FloatArray
from sim_bridge.embedded.house_ground import NO_PATH, Discs, PathSearch

CELL_M = 0.1
ORIGIN_M = (-1.0, 2.0)


@st.composite
def floors(draw: st.DrawFn) -> FloorGrid:
    rows, columns = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    free = rng.random((rows, columns)) < draw(st.sampled_from([0.6, 0.8, 0.95, 1.0]))
    assume(free.any())
    return FloorGrid(free, ORIGIN_M, CELL_M)


@st.composite
def errands(draw: st.DrawFn) -> tuple[FloorGrid, int, int, Discs]:
    """A floor, two of its free cells, and discs in front of some of it."""
    grid = draw(floors())
    cells = st.sampled_from(np.flatnonzero(grid.free).tolist())
    x, y = st.floats(-1.5, 2.0), st.floats(1.5, 5.0)
    discs = st.lists(st.tuples(x, y, st.floats(0.0, 0.7)), max_size=3)
    return grid, draw(cells), draw(cells), tuple(draw(discs))


def middles_m(grid: FloorGrid) -> FloatArray:
    """(rows, columns, 2) middles of all cells."""
    cells = range(grid.free.size)
    return np.array([grid.point(cell) for cell in cells]).reshape(*grid.free.shape, 2)


def without(grid: FloorGrid, discs: Discs, start: int) -> FloorGrid:
    """The same floor with no cell free, but for the start, that has its middle in a disc."""
    free, at_m = grid.free.copy(), middles_m(grid)
    for x_m, y_m, radius_m in discs:
        free &= np.hypot(at_m[..., 0] - x_m, at_m[..., 1] - y_m) > radius_m
    free.flat[start] = True
    return FloorGrid(free, grid.origin_m, grid.cell_m)


def is_walkable(grid: FloorGrid, cells: list[int]) -> bool:
    """Whether each cell is free and beside the one before, with no corner cut."""
    free: NDArray[np.bool_] = grid.free
    for a, b in pairwise(cells):
        (r0, c0), (r1, c1) = divmod(a, grid.columns), divmod(b, grid.columns)
        if max(abs(r1 - r0), abs(c1 - c0)) != 1 or not (free[r0, c1] and free[r1, c0]):
            return False
    return bool(free.flat[cells].all())


def sees(grid: FloorGrid, a: int, b: int) -> bool:
    """Whether the straight line between two cells stays on free floor."""
    (r0, c0), (r1, c1) = divmod(a, grid.columns), divmod(b, grid.columns)
    steps = 2 * max(abs(r1 - r0), abs(c1 - c0))
    along = np.arange(steps + 1.0)
    rows = np.rint(along * ((r1 - r0) / steps) + r0).astype(int)
    columns = np.rint(along * ((c1 - c0) / steps) + c0).astype(int)
    return bool(grid.free[rows, columns].all())


def length_m(grid: FloorGrid, cells: list[int]) -> float:
    points = [grid.point(cell) for cell in cells]
    return sum(math.dist(a, b) for a, b in pairwise(points))


@given(errands())
def test_a_way_is_walkable_and_as_short_as_the_distance_field_has_it(
    errand: tuple[FloorGrid, int, int, Discs],
) -> None:
    grid, start, goal, discs = errand
    bare = without(grid, discs, start)
    way = PathSearch(grid).between(start, goal, discs)
    shortest_m = bare.field(goal).at(start) if bare.free.flat[goal] else math.inf
    if not math.isfinite(shortest_m):
        assert way == NO_PATH
        return
    assert way.cells[0] == start
    assert way.cells[-1] == goal
    assert is_walkable(bare, way.cells)
    assert math.isclose(length_m(bare, way.cells), shortest_m, abs_tol=1e-6)
    assert math.isclose(way.length_m, shortest_m, abs_tol=1e-6)


@given(errands())
def test_one_search_leaves_nothing_to_the_next(
    errand: tuple[FloorGrid, int, int, Discs],
) -> None:
    grid, start, goal, discs = errand
    ways = PathSearch(grid)
    ways.between(goal, start, discs)
    ways.off(start, np.array([grid.point(goal)]), 0.5, discs)
    assert ways.between(start, goal, discs) == PathSearch(grid).between(start, goal, discs)


@given(errands())
def test_between_corners_the_straight_line_stays_on_free_floor(
    errand: tuple[FloorGrid, int, int, Discs],
) -> None:
    grid, start, goal, _ = errand
    ways = PathSearch(grid)
    whole, corners = ways.between(start, goal), ways.corners(start, goal)
    assert corners.length_m == whole.length_m
    if not whole.cells:
        assert not corners.cells
        return
    assert (corners.cells[0], corners.cells[-1]) == (start, goal)
    places = [whole.cells.index(corner) for corner in corners.cells]
    assert places == sorted(places), "in the order of the way"
    for at, to in pairwise(places):
        here = whole.cells[at]
        assert to == at + 1 or sees(grid, here, whole.cells[to])
        assert not any(sees(grid, here, cell) for cell in whole.cells[to + 1 :]), "the farthest"


@given(errands(), st.floats(0.0, 1.5))
def test_the_way_off_goes_to_the_nearest_cell_that_is_far_from_all_points(
    errand: tuple[FloorGrid, int, int, Discs], gap_m: float
) -> None:
    grid, start, other, discs = errand
    points_m = np.array([grid.point(other), grid.point(start)])
    bare = without(grid, discs, start)
    cells = PathSearch(grid).off(start, points_m, gap_m, discs)
    at_m = middles_m(grid).reshape(-1, 1, 2)
    apart_m = np.hypot(*np.moveaxis(at_m - points_m, -1, 0)).min(axis=1)
    away_m = np.where(apart_m > gap_m, bare.field(start).distance_m, math.inf)
    if not np.isfinite(away_m).any():
        assert cells == []
        return
    assert cells[0] == start
    assert is_walkable(bare, cells)
    assert apart_m[cells[-1]] > gap_m
    assert math.isclose(length_m(bare, cells), away_m.min(), abs_tol=1e-6)


def test_there_is_no_way_onto_what_is_not_free() -> None:
    free = np.ones((3, 3), np.bool_)
    free[1, 1] = False
    ways = PathSearch(FloorGrid(free, ORIGIN_M, CELL_M))
    assert ways.corners(0, 4) == NO_PATH
    assert ways.between(0, 4, [(9.0, 9.0, 0.1)]) == NO_PATH


def test_a_place_is_its_own_way() -> None:
    ways = PathSearch(FloorGrid(np.ones((3, 3), np.bool_), ORIGIN_M, CELL_M))
    assert ways.between(4, 4) == ([4], 0.0)
    assert ways.corners(4, 4) == ([4], 0.0)
    assert ways.off(4, np.empty((0, 2)), 1.0) == [4]


@pytest.mark.parametrize("cell", [-1, 9])
def test_a_cell_off_the_grid_is_refused(cell: int) -> None:
    ways = PathSearch(FloorGrid(np.ones((3, 3), np.bool_), ORIGIN_M, CELL_M))
    for seek in (
        lambda: ways.between(cell, 4),
        lambda: ways.corners(4, cell),
        lambda: ways.off(cell, np.empty((0, 2)), 1.0),
    ):
        with pytest.raises(IndexError, match="no cell"):
            seek()
    assert ways.between(0, 4).cells == [0, 4]
