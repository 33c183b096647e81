"""The floor grid keeps the distance fields asked for last, and tells connected parts apart."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from planner.world import floor_grid
from planner.world.floor_grid import FloorGrid, connected_parts


def test_distance_fields_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor_grid, "MAX_CACHED_FIELDS", 2)
    grid = FloorGrid(np.ones((4, 4), dtype=bool), (0.0, 0.0), 0.1)
    first, second = grid.field(0), grid.field(5)
    assert grid.field(0) is first
    grid.field(10)
    assert grid.field(0) is first, "asked for after the one that was given up"
    anew = grid.field(5)
    assert anew is not second
    np.testing.assert_array_equal(anew.distance_m, second.distance_m)


@pytest.mark.parametrize("seed", range(20))
def test_a_path_is_as_long_as_the_field_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = FloorGrid(rng.random((25, 30)) < 0.85, (0.0, 0.0), 0.1)
    goal, start = (int(cell) for cell in rng.choice(np.flatnonzero(grid.free), 2, replace=False))
    field = grid.field(goal)
    path = field.path(start)
    if not np.isfinite(field.at(start)):
        assert path == []
        return
    assert (path[0], path[-1]) == (start, goal)
    assert grid.free.flat[path].all()
    steps_m = [math.dist(grid.point(a), grid.point(b)) for a, b in pairwise(path)]
    assert max(steps_m) < 0.1 * math.sqrt(2) + 1e-9
    assert sum(steps_m) == pytest.approx(field.at(start))


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_numbered_as_their_first_cells_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((30, 40)) < rng.uniform(0.1, 0.6)
    expected, _ = ndimage.label(free)
    assert (connected_parts(free) == expected).all()


@pytest.mark.parametrize("seed", range(5))
def test_all_of_a_part_and_nothing_else_can_be_walked_to(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = FloorGrid(rng.random((20, 20)) < 0.6, (0.0, 0.0), 0.1)
    goal = int(rng.choice(np.flatnonzero(grid.free)))
    reached = np.isfinite(grid.field(goal).distance_m)
    assert (reached == (grid.components.ravel() == grid.components.flat[goal])).all()
