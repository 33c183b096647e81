"""Compressed pictures: what is written is read again, and damaged ones are refused."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import cases

from planner.world.errors import PlannerError
from planner.world.picture_codec import (
    COLOUR_FORMAT,
    DEPTH_FORMAT,
    LOSSLESS_FORMAT,
    decode_colour,
    decode_depth,
    decode_instances,
    encode_colour,
    encode_depth,
    lens_of,
    packed_colour,
)


@dataclass
class Raw:
    encoding: str
    pixels: np.ndarray
    is_bigendian: int = 0
    padding: int = 0
    height: int = field(init=False)
    width: int = field(init=False)
    step: int = field(init=False)
    data: object = field(init=False)

    def __post_init__(self) -> None:
        self.height, self.width = self.pixels.shape[:2]
        rows = self.pixels.reshape(self.height, -1).view(np.uint8)
        self.step = rows.shape[1] + self.padding
        self.data = np.pad(rows, ((0, 0), (0, self.padding))).ravel()


@dataclass
class Compressed:
    format: str
    data: object


def colours() -> np.ndarray:
    ramp = np.linspace(0, 255, 64, dtype=np.uint8)
    return np.stack([np.tile(ramp, (48, 1)), np.full((48, 64), 40), np.full((48, 64), 200)], axis=2)


def test_colour_keeps_its_channels_and_nearly_its_values() -> None:
    rgb = colours().astype(np.uint8)
    back = decode_colour(Compressed(COLOUR_FORMAT, np.frombuffer(encode_colour(rgb), np.uint8)))
    assert back.shape == rgb.shape
    assert np.abs(back.astype(int) - rgb).mean() < 3


@settings(max_examples=50)
@given(st.lists(st.floats(0.0078125, 65.5, width=32), min_size=12, max_size=12))
def test_depth_is_kept_to_the_millimetre(metres: list[float]) -> None:
    depth = np.array(metres, np.float32).reshape(3, 4)
    back = decode_depth(Compressed(DEPTH_FORMAT, encode_depth(depth)))
    assert np.abs(back - depth).max() <= 0.00051


def test_depth_that_was_not_measured_is_zero_and_the_far_is_as_far_as_can_be() -> None:
    depth = np.array([[np.nan, 0.0, -1.0, np.inf, 100.0]], np.float32)
    back = decode_depth(Compressed(DEPTH_FORMAT, encode_depth(depth)))
    np.testing.assert_allclose(back, [[0, 0, 0, 65.534, 65.534]], rtol=1e-6)


def test_raw_pictures_are_read_by_their_encoding() -> None:
    rgb = colours().astype(np.uint8)
    np.testing.assert_array_equal(decode_colour(Raw("rgb8", rgb)), rgb)
    np.testing.assert_array_equal(decode_colour(Raw("bgr8", rgb, padding=5)), rgb[..., ::-1])
    ids = np.arange(-3, 9, dtype=np.int32).reshape(3, 4)
    np.testing.assert_array_equal(decode_instances(Raw("32SC1", ids)), ids)
    np.testing.assert_array_equal(
        decode_instances(Raw("32SC1", ids.astype(">i4"), is_bigendian=1)), ids
    )
    metres = np.array([[np.nan, 1.5]], np.float32)
    np.testing.assert_allclose(decode_depth(Raw("32FC1", metres)), [[0.0, 1.5]])
    millimetres = np.array([[0, 1500, 65535]], np.uint16)
    np.testing.assert_allclose(decode_depth(Raw("16UC1", millimetres)), [[0.0, 1.5, 0.0]])


def test_a_picture_of_another_kind_is_refused() -> None:
    ids = np.zeros((2, 2), np.int32)
    with pytest.raises(PlannerError, match="expected a colour picture, got 32SC1"):
        decode_colour(Raw("32SC1", ids))
    with pytest.raises(PlannerError, match="expected a depth picture, got bgr8"):
        decode_depth(Compressed(COLOUR_FORMAT, encode_colour(colours().astype(np.uint8))))
    with pytest.raises(PlannerError, match="expected instance ids"):
        decode_instances(Raw("rgb8", colours().astype(np.uint8)))
    with pytest.raises(PlannerError, match="'yuv422' are not read"):
        decode_colour(Raw("yuv422", colours().astype(np.uint8)))


def test_data_that_do_not_fill_the_picture_are_refused() -> None:
    picture = Raw("rgb8", colours().astype(np.uint8))
    picture.data = b"too short"
    with pytest.raises(PlannerError, match="do not fill 64 x 48"):
        decode_colour(picture)


def test_a_few_bytes_that_say_they_are_gigabytes_are_refused() -> None:
    head = struct.pack(">IIBBBBB", 60000, 60000, 16, 0, 0, 0, 0)
    chunk = b"IHDR" + head
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk
    png += struct.pack(">I", zlib.crc32(chunk)) + struct.pack(">I", 0) + b"IDAT"
    with pytest.raises(PlannerError, match=r"larger than|cannot be read"):
        decode_depth(Compressed(DEPTH_FORMAT, bytes(12) + png))


@cache
def encoded(kind: str) -> bytes:
    if kind == DEPTH_FORMAT:
        return encode_depth(np.ones((8, 8), np.float32))
    return encode_colour(colours().astype(np.uint8))


@settings(max_examples=cases(200))
@given(st.binary(max_size=64), st.integers(0, 600), st.sampled_from([COLOUR_FORMAT, DEPTH_FORMAT]))
def test_damaged_data_give_a_picture_or_one_clear_error(junk: bytes, at: int, kind: str) -> None:
    whole = encoded(kind)
    data = whole[:at] + junk + whole[at + len(junk) :]
    try:
        decode = decode_depth if kind == DEPTH_FORMAT else decode_colour
        pixels: np.ndarray = decode(Compressed(kind, data))
    except PlannerError:
        return
    assert pixels.ndim in (2, 3)


def test_what_other_tools_wrote_is_read() -> None:
    rgb = colours().astype(np.uint8)
    _, png = cv2.imencode(".png", rgb[..., ::-1])
    back = decode_colour(Compressed("bgr8; png compressed bgr8", png.tobytes()))
    np.testing.assert_array_equal(back, rgb)


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


def test_drawn_pictures_are_packed_without_loss_and_noisy_ones_small() -> None:
    drawn = np.kron(np.arange(48, dtype=np.uint8).reshape(6, 8), np.ones((64, 48), np.uint8))
    rgb = np.stack([drawn, 2 * drawn, 255 - drawn], axis=2)
    packed, kind = packed_colour(rgb)
    assert kind == LOSSLESS_FORMAT
    assert np.array_equal(decode_colour(Compressed(kind, packed)), rgb)
    noise = np.random.default_rng(1).normal(0, 3, rgb.shape)
    noisy = np.clip(rgb + noise, 0, 255).astype(np.uint8)
    packed, kind = packed_colour(noisy)
    assert kind == COLOUR_FORMAT
    assert len(packed) < noisy.size / 4
    assert np.abs(decode_colour(Compressed(kind, packed)).astype(int) - noisy).mean() < 5
