"""Recorded pictures as arrays: raw ones and those that image_transport's plug-ins compress."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage

RAW_TYPE = "sensor_msgs/msg/Image"
COMPRESSED_TYPE = "sensor_msgs/msg/CompressedImage"
# compressed_depth_image_transport's ConfigHeader: a number of the format, then two parameters.
_DEPTH_HEADER = struct.Struct("<iff")
_DTYPES: Mapping[str, tuple[np.dtype[Any], int]] = {
    "rgb8": (np.dtype(np.uint8), 3),
    "bgr8": (np.dtype(np.uint8), 3),
    "16UC1": (np.dtype(np.uint16), 1),
    "32FC1": (np.dtype(np.float32), 1),
    "32SC1": (np.dtype(np.int32), 1),
}
# A Spot's other word for "nothing was measured".
_NO_DEPTH_MM = 0xFFFF


def decoded(message: Any) -> tuple[str, NDArray[Any]]:
    """The encoding and pixels of a sensor_msgs/Image or CompressedImage, by its fields.

    Returns:
        An encoding of those above, and an array (h, w) or, of colours, (h, w, 3).

    Raises:
        PlannerError: for an encoding that is not read, or data that are no such picture.
    """
    if hasattr(message, "encoding"):
        return message.encoding, _raw(message)
    kind = str(message.format)
    data = np.asarray(message.data, np.uint8)
    if "compressedDepth" in kind:
        return _compressed_depth(kind, data)
    return _compressed(kind, data)


def rgb_of(message: Any) -> RgbImage:
    """(h, w, 3) uint8, red first.

    Raises:
        PlannerError: for a picture without colours, or one that cannot be read.
    """
    encoding, pixels = decoded(message)
    if encoding == "bgr8":
        return pixels[..., ::-1]
    if encoding != "rgb8":
        raise PlannerError(f"{encoding!r} is no colour encoding: rgb8 or bgr8")
    return pixels


def depth_of(message: Any) -> DepthImage:
    """(h, w) float32 metres, 0 where nothing was measured.

    Raises:
        PlannerError: for a picture without depth, or one that cannot be read.
    """
    encoding, pixels = decoded(message)
    if encoding == "16UC1":
        metres = pixels.astype(np.float32) / np.float32(1000)
        return np.where(pixels == _NO_DEPTH_MM, np.float32(0), metres)
    if encoding == "32FC1":
        return np.where(np.isfinite(pixels), pixels, np.float32(0))
    raise PlannerError(f"{encoding!r} is no depth encoding: 32FC1 or 16UC1")


def instances_of(message: Any) -> InstanceImage:
    """(h, w) int32 ground-truth instance ids.

    Raises:
        PlannerError: for a picture of something else, or one that cannot be read.
    """
    encoding, pixels = decoded(message)
    if encoding == "16UC1":
        return pixels.astype(np.int32)
    if encoding != "32SC1":
        raise PlannerError(f"{encoding!r} is no instance encoding: 32SC1 or 16UC1")
    return pixels


def lens_of(message: Any) -> Intrinsics:
    """The lens of a camera_info.

    Raises:
        PlannerError: where the camera is not calibrated.
    """
    if not message.k[0] > 0:
        raise PlannerError("camera_info of a camera that is not calibrated (k[0] is 0)")
    fx, cx, fy, cy = (float(message.k[i]) for i in (0, 2, 4, 5))
    return Intrinsics(int(message.width), int(message.height), fx, fy, cx, cy)


def _raw(message: Any) -> NDArray[Any]:
    if message.encoding not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise PlannerError(f"{message.encoding!r} is no encoding that is read: {known}")
    dtype, channels = _DTYPES[message.encoding]
    height, width, step = int(message.height), int(message.width), int(message.step)
    row = width * channels * dtype.itemsize
    data = np.frombuffer(message.data, np.uint8)
    if step < row or data.size != height * step:
        raise PlannerError(
            f"an image of {width}x{height} {message.encoding} has {data.size} bytes in rows of "
            f"{step}"
        )
    rows = np.ascontiguousarray(data.reshape(height, step)[:, :row])
    stored = dtype.newbyteorder(">" if message.is_bigendian else "<")
    shape = (height, width, channels) if channels > 1 else (height, width)
    pixels: NDArray[Any] = rows.view(stored).astype(dtype, copy=False).reshape(shape)
    return pixels


def _compressed(kind: str, data: NDArray[np.uint8]) -> tuple[str, NDArray[Any]]:
    encoding = kind.partition(";")[0].strip()
    pixels = cv2.imdecode(data, cv2.IMREAD_UNCHANGED) if data.size else None
    if pixels is None:
        raise PlannerError(f"a compressed picture ({kind[:60]!r}) cannot be decoded")
    if encoding in ("16UC1", "32SC1") and pixels.dtype == np.uint16 and pixels.ndim == 2:
        return ("32SC1", pixels.astype(np.int32)) if encoding == "32SC1" else ("16UC1", pixels)
    if pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3:
        return "bgr8", pixels
    raise PlannerError(f"a compressed picture ({kind[:60]!r}) is no picture of a known encoding")


def _compressed_depth(kind: str, data: NDArray[np.uint8]) -> tuple[str, NDArray[Any]]:
    encoding = kind.partition(";")[0].strip()
    if data.size <= _DEPTH_HEADER.size:
        raise PlannerError("a compressed depth picture has no data")
    _, quant_a, quant_b = _DEPTH_HEADER.unpack_from(data.tobytes()[: _DEPTH_HEADER.size])
    pixels = cv2.imdecode(data[_DEPTH_HEADER.size :], cv2.IMREAD_UNCHANGED)
    if pixels is None or pixels.dtype != np.uint16 or pixels.ndim != 2:
        raise PlannerError(f"a compressed depth picture ({kind[:60]!r}) cannot be decoded")
    if encoding == "16UC1":
        return encoding, pixels
    if encoding != "32FC1":
        raise PlannerError(f"{encoding!r} is no encoding of compressed depth: 32FC1 or 16UC1")
    inverse = pixels.astype(np.float32) - np.float32(quant_b)
    known = (pixels > 0) & (inverse != 0)
    metres = np.full(pixels.shape, np.nan, np.float32)
    np.divide(np.float32(quant_a), inverse, out=metres, where=known)
    return encoding, metres
