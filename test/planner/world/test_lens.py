"""Pictures of others' cameras as an ideal pinhole sees them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from planner.world.errors import PlannerError
from planner.world.lens import lens_of

WIDTH, HEIGHT = 96, 64
FX, FY, CX, CY = 80.0, 82.0, 47.0, 31.0


def info(model: str = "plumb_bob", factors: tuple[float, ...] = (), **more: Any) -> Any:
    """A sensor_msgs/CameraInfo of a camera that is not square."""
    fields = {
        "width": WIDTH,
        "height": HEIGHT,
        "distortion_model": model,
        "d": factors,
        "k": [FX, 0.0, CX, 0.0, FY, CY, 0.0, 0.0, 1.0],
        "p": [70.0, 0.0, 48.0, 0.0, 0.0, 71.0, 32.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        "binning_x": 0,
        "binning_y": 0,
        "roi": SimpleNamespace(width=0),
    }
    return SimpleNamespace(**(fields | more))


def brown(x: float, y: float, factors: tuple[float, ...]) -> tuple[float, float]:
    """The model plumb_bob, as in the papers of Brown."""
    k1, k2, p1, p2, k3 = factors
    r2 = x * x + y * y
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    return (
        x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
        y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
    )


def fisheye(x: float, y: float, factors: tuple[float, ...]) -> tuple[float, float]:
    """The model equidistant, as in the paper of Kannala and Brandt."""
    radius = math.hypot(x, y)
    angle = math.atan(radius)
    bent = angle * (1 + sum(k * angle ** (2 * i + 2) for i, k in enumerate(factors)))
    return x * bent / radius, y * bent / radius


@pytest.mark.parametrize(
    ("model", "factors", "bend"),
    [
        ("plumb_bob", (0.7, -0.1, 0.02, -0.02, 0.05), brown),
        ("equidistant", (0.1, -0.05, 0.02, 0.0), fisheye),
    ],
)
def test_a_bent_picture_is_straightened(model: str, factors: Any, bend: Any) -> None:
    lens = lens_of(info(model, factors))
    ideal = (75, 12)
    x, y = bend((ideal[0] - CX) / FX, (ideal[1] - CY) / FY, factors)
    column, row = FX * x + CX, FY * y + CY
    assert math.dist((column, row), ideal) > 1, "the lens must bend for this to say anything"
    # A picture whose red is the column, and whose depth is the row.
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    rgb = np.stack([columns * 2, rows, rows], axis=2).astype(np.uint8)
    straight, depths = lens.straightened(rgb, rows.astype(np.float32))
    assert straight.shape == (HEIGHT, WIDTH, 3)
    assert straight[ideal[1], ideal[0], 0] == pytest.approx(2 * column, abs=1.0)
    assert depths[ideal[1], ideal[0]] == pytest.approx(row, abs=0.51)
    assert (lens.intrinsics.fx_px, lens.intrinsics.cy_px) == (FX, CY)


def test_depths_are_not_mixed_at_an_edge() -> None:
    lens = lens_of(info("plumb_bob", (0.3, 0.0, 0.0, 0.0, 0.0)))
    depth_m = np.where(np.arange(WIDTH) < 50, 1.0, 5.0) * np.ones((HEIGHT, 1))
    _, straight = lens.straightened(np.zeros((HEIGHT, WIDTH, 3), np.uint8), depth_m)
    assert set(np.unique(straight)) <= {0.0, 1.0, 5.0}


def test_a_straight_or_rectified_picture_is_left_as_it_is() -> None:
    rgb, depth_m = np.ones((HEIGHT, WIDTH, 3), np.uint8), np.ones((HEIGHT, WIDTH), np.float32)
    for lens in (lens_of(info(factors=(0.0,) * 5)), lens_of(info(factors=(0.3,)), rectified=True)):
        assert lens.straightened(rgb, depth_m)[0] is rgb
    assert lens.intrinsics.fx_px == 70.0
    assert lens.intrinsics.cx_px == 48.0


@pytest.mark.parametrize(
    ("message", "rectified", "words"),
    [
        (info("plumb_bob", (0.1, 0.2)), False, "2 numbers of the distortion model 'plumb_bob'"),
        (info("mine", (0.1,) * 4), False, "model 'mine' is not read; models are plumb_bob"),
        (info("plumb_bob", (math.nan,) * 5), False, "5 numbers"),
        (info(k=[0.0] * 9), False, "not calibrated"),
        (info(p=[0.0] * 12), True, "without a projection"),
        (info(binning_x=2), False, "binned"),
        (info(roi=SimpleNamespace(width=10)), False, "cropped"),
    ],
)
def test_what_cannot_be_straightened_is_said(message: Any, rectified: bool, words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        lens_of(message, rectified=rectified)


def test_a_picture_of_another_size_is_said() -> None:
    lens = lens_of(info())
    small = np.zeros((10, 20), np.float32)
    with pytest.raises(PlannerError, match="a depth of 20 x 10 pixels, but its camera_info says 9"):
        lens.straightened(np.zeros((HEIGHT, WIDTH, 3), np.uint8), small)
