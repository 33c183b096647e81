"""Walls hide what no straight line gets to without meeting one of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from planner.world.geometry import FloatArray
from planner.world.house_checks import load_house
from sim_bridge.embedded.house_ground import CELL_M, Rectangle, Screens, merged
from sim_bridge.geometry import wall_segments

MARGIN_M = 1e-6


@pytest.mark.parametrize("name", ["train_0", "heldout_2"])
def test_a_region_is_hidden_where_one_wall_parts_all_of_it_from_all_of_a_square(name: str) -> None:
    house = load_house(name)
    screens = Screens(house, wall_segments(house))
    walls = np.array(merged(wall_segments(house)))
    regions = np.array([_corners(region) for region in screens.regions])
    x0, y0, x1, y1 = house.bounds_m
    rng = np.random.default_rng(0)
    counts = {True: 0, False: 0}
    for x, y in rng.uniform((x0, y0), (x1, y1), (60, 2)).tolist():
        left, low = np.floor(x / CELL_M) * CELL_M, np.floor(y / CELL_M) * CELL_M
        square = np.array(_corners((left, low, left + CELL_M, low + CELL_M)))
        surely = np.zeros(len(regions), np.bool_)
        perhaps = np.zeros(len(regions), np.bool_)
        for wall in walls:
            surely |= _parts(wall, square, regions, 2 * MARGIN_M)
            perhaps |= _parts(wall, square, regions, 0.0)
        hidden = screens.hidden_from(x, y)
        assert not hidden[-1]
        assert (surely <= hidden[:-1]).all()
        assert (hidden[:-1] <= perhaps).all()
        for value in hidden[:-1].tolist():
            counts[value] += 1
    assert min(counts.values()) > 300


def _corners(region: Rectangle) -> list[tuple[float, float]]:
    x0, y0, x1, y1 = region
    return [(x0, y0), (x0, y1), (x1, y0), (x1, y1)]


def _parts(
    wall: FloatArray, square: FloatArray, regions: FloatArray, margin_m: float
) -> NDArray[np.bool_]:
    """Whether each line from a corner of a square to one of a region crosses a wall: by areas.

    Two stretches cross where the ends of each are on both sides of the other.
    """
    a, b = wall
    here, there = _area(a, b, square), _area(a, b, regions)
    least = margin_m * np.hypot(*(b - a))
    across = ((here > least).all() & (there < -least).all(axis=1)) | (
        (here < -least).all() & (there > least).all(axis=1)
    )
    starts, ends = square[None, :, None], regions[:, None, :]
    before, after = _area(starts, ends, a), _area(starts, ends, b)
    # On the wall's end counts as met, give or take rounding.
    slack = 1e-9 - margin_m * 1e-3
    crossed: NDArray[np.bool_] = (before * after <= slack).all(axis=(1, 2))
    return across & crossed


def _area(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Twice the area to the left of the lines from a to b, up to points c."""
    area: FloatArray = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (
        b[..., 1] - a[..., 1]
    ) * (c[..., 0] - a[..., 0])
    return area
