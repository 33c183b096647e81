"""Pictures of moments: a few of each camera, whatever a message says of itself."""

from __future__ import annotations

import io
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_bags import header, jpeg, new, reader, serialised
from PIL import Image

from planner.replay.report.pictures import Camera
from planner.replay.report.tracks import WorldClock

RAW, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
S = 1_000_000_000


def raw(pixels, encoding, t_s=1.0, **changes) -> memoryview:
    data = np.ascontiguousarray(pixels, np.uint8)
    height, width = data.shape[:2]
    fields = {"height": height, "width": width, "step": data[0].size} | changes
    message = new(RAW, header=header(t_s), encoding=encoding, data=data.ravel(), **fields)
    return memoryview(serialised(RAW, message))


def packed(data: bytes, t_s=1.0) -> memoryview:
    message = new(COMPRESSED, header=header(t_s), format="jpeg", data=np.frombuffer(data, np.uint8))
    return memoryview(serialised(COMPRESSED, message))


def camera(*, compressed=False, slot_s=1) -> Camera:
    return Camera("agent_0", reader(COMPRESSED if compressed else RAW), "/t", 0, slot_s * S)


def only_picture(found: Camera) -> Image.Image:
    ((_, data),) = found.pictures(WorldClock(0))
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize(
    ("encoding", "colour", "shown"),
    [
        ("rgb8", (250, 10, 10), (250, 10, 10)),
        ("bgr8", (10, 10, 250), (250, 10, 10)),
        ("bgra8", (10, 10, 250, 0), (250, 10, 10)),
        ("mono8", (90,), (90, 90, 90)),
    ],
)
def test_raw_pictures_have_the_right_colours(encoding, colour, shown) -> None:
    pixels = np.full((16, 24, len(colour)), colour)
    found = camera()
    found.take(0, raw(pixels, encoding))
    picture = only_picture(found)
    assert picture.size == (24, 16)
    assert np.abs(np.asarray(picture.convert("RGB"))[8, 8].astype(int) - shown).max() < 12


def test_rows_may_be_longer_than_the_picture_is_wide() -> None:
    pixels = np.zeros((8, 30), np.uint8)
    pixels[:, :24] = 255
    found = camera()
    found.take(0, raw(pixels, "rgb8", width=8, step=30))
    assert np.asarray(only_picture(found)).min() > 240


def test_large_pictures_are_made_small() -> None:
    found = camera()
    found.take(0, raw(np.zeros((480, 640, 3)), "rgb8"))
    assert only_picture(found).size == (320, 240)


def test_a_small_jpeg_is_taken_as_it_is_and_a_large_one_made_small() -> None:
    small = jpeg(64)
    found = camera(compressed=True)
    found.take(0, packed(small))
    ((picture, data),) = found.pictures(WorldClock(0))
    assert (data, picture.width_px) == (small, 64)
    found = camera(compressed=True)
    found.take(0, packed(jpeg(1000)))
    assert only_picture(found).size == (320, 320)


def test_a_jpeg_that_holds_more_than_a_picture_is_made_again() -> None:
    found = camera(compressed=True)
    found.take(0, packed(jpeg(64) + b"x" * 100_000))
    ((_, data),) = found.pictures(WorldClock(0))
    assert len(data) < 10_000


def test_of_each_part_of_the_recording_the_first_picture_is_kept() -> None:
    found = camera(compressed=True, slot_s=10)
    for t_s in range(35):
        found.take(t_s * S, packed(jpeg(), float(t_s)))
    assert [shot.received_ns // S for shot in found.shots] == [0, 10, 20, 30]


@pytest.mark.parametrize(
    "changes",
    [
        {"width": 100_000, "height": 100_000},
        {"height": 17},
        {"step": 1},
        {"step": 2**31},
        {"width": 0},
        {"encoding": "32FC1"},
        {"encoding": "</script>"},
    ],
)
def test_a_picture_that_is_none_is_an_error(changes) -> None:
    encoding = changes.pop("encoding", "rgb8")
    with pytest.raises(ValueError, match="no picture"):
        camera().take(0, raw(np.zeros((16, 16, 3)), encoding, **changes))


def test_other_formats_than_jpeg_and_png_are_none() -> None:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "GIF")
    with pytest.raises(ValueError, match="no picture"):
        camera(compressed=True).take(0, packed(out.getvalue()))


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_an_error_or_a_picture(data, compressed) -> None:
    found = camera(compressed=compressed)
    with suppress(ValueError):
        found.take(0, memoryview(b"\x00\x01\x00\x00" + data))
    assert len(found.shots) <= 1


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8), st.booleans())
def test_damaged_pictures_are_an_error_or_a_picture(at, noise, compressed) -> None:
    whole = packed(jpeg(16)) if compressed else raw(np.zeros((4, 4, 3)), "rgb8")
    data = bytearray(whole)
    at %= len(data)
    data[at : at + len(noise)] = noise
    found = camera(compressed=compressed)
    with suppress(ValueError):
        found.take(0, memoryview(data))
    assert len(found.shots) <= 1
