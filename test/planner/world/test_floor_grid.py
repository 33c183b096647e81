"""The floor grid keeps the distance fields asked for last, and tells connected parts apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from planner.world import floor_grid
from planner.world.floor_grid import FloorGrid, connected_parts


def test_distance_fields_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor_grid, "MOST_FIELDS", 2)
    grid = FloorGrid(np.ones((4, 4), dtype=bool), (0.0, 0.0), 0.1)
    first, second = grid.field(0), grid.field(5)
    assert grid.field(0) is first
    grid.field(10)
    assert grid.field(0) is first, "asked for after the one that was given up"
    anew = grid.field(5)
    assert anew is not second
    np.testing.assert_array_equal(anew.distance_m, second.distance_m)


@pytest.mark.parametrize("seed", range(20))
def test_ways_around_discs_are_those_of_a_floor_without_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((25, 30)) < 0.85
    grid = FloorGrid(free, (0.0, 0.0), 0.1)
    cells = np.flatnonzero(free)
    goal, kept = (int(cell) for cell in rng.choice(cells, 2, replace=False))
    discs = tuple((float(x), float(y), 0.35) for x, y in rng.uniform(0, 2.5, (2, 2)))
    bare = free.copy()
    for disc in discs:
        bare.flat[grid.free_within(*disc)] = False
    bare.flat[kept] = True
    around, plain = grid.field_avoiding(goal, discs, keep=(kept,)), FloorGrid(bare, (0, 0), 0.1)
    expected = plain.field(goal)
    np.testing.assert_array_equal(around.distance_m, expected.distance_m)
    assert around.path(kept) == expected.path(kept)
    assert bool(expected.path(kept)) == np.isfinite(around.at(kept))


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_numbered_as_their_first_cells_come(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((30, 40)) < rng.uniform(0.1, 0.6)
    expected, _ = ndimage.label(free, structure=np.ones((3, 3)))
    assert (connected_parts(free) == expected).all()
