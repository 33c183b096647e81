"""Pictures between arrays and sensor_msgs, with one copy each way.

Depth is read from 32FC1 (metres, NaN where nothing was measured, REP-118) and
from 16UC1 (millimetres, 0 where nothing was measured), by the message's encoding.
"""

from __future__ import annotations

import array
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

from planner.world.errors import PlannerError
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage

COLOUR_ENCODINGS = ("rgb8", "bgr8")
DEPTH_ENCODINGS = ("32FC1", "16UC1")
_MAX_MILLIMETRES = 65534.0


def rgb_message(head: Header, rgb: RgbImage) -> Image:
    """An rgb8 image from (h, w, 3) uint8."""
    return _message(head, "rgb8", rgb)


def depth_message(head: Header, depth_m: DepthImage, encoding: str) -> Image:
    """A depth image from (h, w) float32 metres, 0 where nothing was measured."""
    if encoding == "16UC1":
        millimetres = np.minimum(np.rint(depth_m * 1000.0), _MAX_MILLIMETRES)
        return _message(head, encoding, millimetres.astype(np.uint16))
    metres = depth_m.copy()
    metres[metres <= 0] = np.nan
    return _message(head, encoding, metres)


def instances_message(head: Header, instances: InstanceImage) -> Image:
    """A 32SC1 image of instance ids."""
    return _message(head, "32SC1", instances)


def camera_info(head: Header, intrinsics: Intrinsics) -> CameraInfo:
    """An ideal, rectified pinhole camera."""
    fx, fy, cx, cy = map(
        float, (intrinsics.fx_px, intrinsics.fy_px, intrinsics.cx_px, intrinsics.cy_px)
    )
    return CameraInfo(
        header=head,
        width=intrinsics.width_px,
        height=intrinsics.height_px,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def rgb_array(message: Image) -> RgbImage:
    """(h, w, 3) uint8 of an rgb8 or bgr8 image.

    Raises:
        PlannerError: for any other encoding, or data that do not fill the picture.
    """
    if message.encoding not in COLOUR_ENCODINGS:
        raise PlannerError(f"{message.encoding!r} is not a colour encoding read here: rgb8, bgr8")
    pixels: RgbImage = _pixels(message, np.dtype(np.uint8), 3)
    return pixels if message.encoding == "rgb8" else pixels[..., ::-1]


def depth_array(message: Image) -> DepthImage:
    """(h, w) float32 metres, 0 where nothing was measured.

    Raises:
        PlannerError: for an encoding other than 32FC1 and 16UC1, or wrong data.
    """
    if message.encoding == "16UC1":
        raw = _pixels(message, np.dtype(np.uint16), 1)
        # 65535 is another value by which a Spot marks pixels without a measurement.
        return np.where(raw == 0xFFFF, np.float32(0), raw.astype(np.float32) / np.float32(1000))
    if message.encoding == "32FC1":
        metres = _pixels(message, np.dtype(np.float32), 1)
        return np.where(np.isfinite(metres), metres, np.float32(0))
    raise PlannerError(f"{message.encoding!r} is not a depth encoding: 32FC1 or 16UC1")


def instance_array(message: Image) -> InstanceImage:
    """(h, w) int32 of a 32SC1 image.

    Raises:
        PlannerError: for any other encoding, or data that do not fill the picture.
    """
    if message.encoding != "32SC1":
        raise PlannerError(f"{message.encoding!r} is not an instance encoding: 32SC1")
    pixels: InstanceImage = _pixels(message, np.dtype(np.int32), 1)
    return pixels


def _message(head: Header, encoding: str, pixels: NDArray[Any]) -> Image:
    height, width = pixels.shape[:2]
    # Only an array.array is assigned without a copy; bytes and lists are checked byte by byte.
    data = array.array("B")
    data.frombytes(np.ascontiguousarray(pixels).data.cast("B"))
    return Image(
        header=head,
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=sys.byteorder == "big",
        step=len(data) // height,
        data=data,
    )


def _pixels(message: Image, dtype: np.dtype[Any], channels: int) -> NDArray[Any]:
    height, width = int(message.height), int(message.width)
    row = width * channels * dtype.itemsize
    data = np.frombuffer(message.data, np.uint8)
    if int(message.step) < row or data.size != height * int(message.step):
        raise PlannerError(
            f"an image of {width}x{height} {message.encoding} has {data.size} bytes in rows of "
            f"{message.step}"
        )
    rows = data.reshape(height, int(message.step))[:, :row]
    stored = dtype.newbyteorder(">") if message.is_bigendian else dtype.newbyteorder("<")
    values = np.ascontiguousarray(rows).view(stored)
    shape = (height, width, channels) if channels > 1 else (height, width)
    return values.astype(dtype, copy=False).reshape(shape)
