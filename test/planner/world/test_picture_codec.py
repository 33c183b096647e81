"""Compressed pictures: what is written is read again, and damaged ones are refused."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from functools import cache

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
    decode_colour,
    decode_depth,
    decode_instances,
    encode_colour,
    encode_depth,
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
