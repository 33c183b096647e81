"""The floor grid keeps the distance fields of the goals that were asked for last, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from planner.world import floor_grid
from planner.world.floor_grid import FloorGrid


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
