"""Recorded pictures as arrays: raw and compressed ones alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.observation import DepthImage, RgbImage

_COLOURS = {"rgb8": (3, False), "bgr8": (3, True), "rgba8": (4, False), "bgra8": (4, True)}
_DEPTHS: Mapping[str, np.dtype[Any]] = {"32FC1": np.dtype(np.float32), "16UC1": np.dtype(np.uint16)}
# Wider or higher ones are damaged: a bag's numbers are believed up to here.
_MOST_PX = 16_384


def rgb_picture(message: Any) -> RgbImage:
    """(h, w, 3) uint8 of a sensor_msgs Image or CompressedImage.

    Raises:
        PlannerError: for an encoding that is not read here, or data that are no such picture.
    """
    if hasattr(message, "format"):
        return _uncompressed(message)
    encoding = str(message.encoding)
    if encoding == "mono8":
        return np.repeat(_pixels(message, np.dtype(np.uint8), 1)[..., None], 3, axis=2)
    if encoding not in _COLOURS:
        known = ", ".join((*_COLOURS, "mono8"))
        raise PlannerError(f"{encoding!r} is no colour encoding read here: {known}")
    channels, reversed_ = _COLOURS[encoding]
    pixels: RgbImage = _pixels(message, np.dtype(np.uint8), channels)[..., :3]
    return np.ascontiguousarray(pixels[..., ::-1] if reversed_ else pixels)


def depth_picture(message: Any) -> DepthImage:
    """(h, w) float32 metres, 0 where nothing was measured.

    Raises:
        PlannerError: for an encoding that is not read here, or data that are no such picture.
    """
    encoding = str(message.encoding)
    if encoding not in _DEPTHS:
        raise PlannerError(f"{encoding!r} is no depth encoding read here: 32FC1, 16UC1")
    raw = _pixels(message, _DEPTHS[encoding], 1)
    if encoding == "16UC1":
        # 65535 is a Spot's other word for "nothing".
        return np.where(raw == 0xFFFF, np.float32(0), raw.astype(np.float32) / np.float32(1000))
    return np.where(np.isfinite(raw), raw, np.float32(0))


def _uncompressed(message: Any) -> RgbImage:
    import cv2

    data = np.frombuffer(message.data, np.uint8)
    found = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if found is None:
        raise PlannerError(f"{data.size} bytes of format {str(message.format)[:40]!r}: no picture")
    return np.ascontiguousarray(np.asarray(found, np.uint8)[..., ::-1])


def _pixels(message: Any, dtype: np.dtype[Any], channels: int) -> NDArray[Any]:
    height, width, step = int(message.height), int(message.width), int(message.step)
    row = width * channels * dtype.itemsize
    data = np.frombuffer(message.data, np.uint8)
    fits = 0 < height <= _MOST_PX and 0 < width <= _MOST_PX and step >= row
    if not fits or data.size != height * step:
        raise PlannerError(
            f"an image of {width}x{height} {str(message.encoding)[:40]!r} has {data.size} bytes in "
            f"rows of {step}"
        )
    rows = np.ascontiguousarray(data.reshape(height, step)[:, :row])
    values = rows.view(dtype.newbyteorder(">" if message.is_bigendian else "<"))
    shape = (height, width, channels) if channels > 1 else (height, width)
    return values.astype(dtype, copy=False).reshape(shape)
