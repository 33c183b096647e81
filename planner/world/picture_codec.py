"""Compressed pictures of ROS, and camera models of others as ideal pinholes.

A picture is a sensor_msgs/Image or a sensor_msgs/CompressedImage, of rclpy or of a bag.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PillowImage

from planner.world.errors import PlannerError
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage
from planner.world.wire import intrinsics_of

JPEG_QUALITY = 90
COLOUR_FORMAT = "rgb8; jpeg compressed bgr8"
LOSSLESS_FORMAT = "rgb8; png compressed bgr8"
# A picture is drawn if so many pixels are as their left neighbours, in every so manieth row.
_DRAWN_SHARE, _PROBED_ROW = 0.5, 16
# Of depth, 22 instead of 32 kB at level 1, for 4.7 instead of 2.9 ms.
_PNG_LEVEL = 5
DEPTH_FORMAT = "16UC1; compressedDepth png"
MAX_DEPTH_MM = 65534
_Pixels: TypeAlias = NDArray[Any]
# Larger images, 64 megapixels, cannot come from a robot.
MAX_PIXELS = 1 << 26
# compressed_depth_image_transport puts its configuration before the PNG: format and two floats.
_DEPTH_HEADER = struct.Struct("<iff")
_ENCODINGS: dict[str, tuple[str, int]] = {
    "rgb8": ("u1", 3),
    "bgr8": ("u1", 3),
    "rgba8": ("u1", 4),
    "bgra8": ("u1", 4),
    "mono8": ("u1", 1),
    "16UC1": ("u2", 1),
    "mono16": ("u2", 1),
    "32FC1": ("f4", 1),
    "32SC1": ("i4", 1),
}


def encode_colour(rgb: RgbImage) -> bytes:
    """JPEG of (h, w, 3) uint8 in the order red, green, blue."""
    return _encoded(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])


def packed_colour(rgb: RgbImage) -> tuple[bytes, str]:
    """(h, w, 3) uint8 in the least harmful form, and its format in sensor_msgs/CompressedImage.

    PNG for drawn pictures, whose areas of one colour it packs into half of a JPEG; what a network
    sees in them is not what it sees after JPEG. A camera's noise makes it JPEG.
    """
    rows = rgb[::_PROBED_ROW]
    drawn = np.mean((rows[:, 1:] == rows[:, :-1]).all(axis=2)) >= _DRAWN_SHARE
    if not drawn:
        return encode_colour(rgb), COLOUR_FORMAT
    packed = _encoded(".png", rgb[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, _PNG_LEVEL])
    return packed, LOSSLESS_FORMAT


def encode_depth(depth_m: DepthImage) -> bytes:
    """PNG of (h, w) float32 metres in whole millimetres; 0 and NaN = not measured.

    Beyond 65.534 m counts as not measured.
    """
    with np.errstate(invalid="ignore"):
        far_mm = np.minimum(np.rint(depth_m * np.float32(1000.0)), MAX_DEPTH_MM)
        millimetres = np.where(far_mm > 0, far_mm, 0).astype(np.uint16)
    return _DEPTH_HEADER.pack(0, 0.0, 0.0) + _encoded(
        ".png", millimetres, [cv2.IMWRITE_PNG_COMPRESSION, _PNG_LEVEL]
    )


def decode_colour(message: Any) -> RgbImage:
    """(h, w, 3) uint8 in the order red, green, blue.

    Raises:
        PlannerError: if the message is not a colour image or its data are corrupt.
    """
    kind, pixels = _decoded(message)
    if pixels.dtype != np.uint8:
        raise PlannerError(f"expected a colour picture, got {kind}")
    if pixels.ndim == 2 or pixels.shape[2] == 1:
        return np.repeat(pixels.reshape(*pixels.shape[:2], 1), 3, axis=2)
    colours: RgbImage = pixels[..., :3]
    return np.ascontiguousarray(colours[..., ::-1] if kind.startswith("bgr") else colours)


def decode_depth(message: Any) -> DepthImage:
    """(h, w) float32 metres; 0 = not measured.

    Raises:
        PlannerError: if the message is not a depth image or its data are corrupt.
    """
    kind, pixels = _decoded(message)
    if pixels.dtype == np.uint16 and pixels.ndim == 2:
        # Spot also uses 65535 for "not measured".
        known = np.where(pixels == 65535, 0, pixels)
        return known.astype(np.float32) / np.float32(1000.0)
    if pixels.dtype == np.float32 and pixels.ndim == 2:
        metres: DepthImage = np.where(np.isfinite(pixels) & (pixels > 0), pixels, 0.0)
        return metres.astype(np.float32)
    raise PlannerError(f"expected a depth picture, got {kind}")


def decode_instances(message: Any) -> InstanceImage:
    """(h, w) int32 instance ids; 0 = none.

    Raises:
        PlannerError: if the message is not an image of ids or its data are corrupt.
    """
    kind, pixels = _decoded(message)
    if pixels.dtype != np.int32:
        raise PlannerError(f"expected instance ids (32SC1), got {kind}")
    return pixels


def stored_pixels(message: Any) -> NDArray[Any]:
    """(h, w) or (h, w, channels) pixels of any picture as they are stored, whatever they mean.

    Raises:
        PlannerError: if the message is none, or its data are corrupt.
    """
    return _decoded(message)[1]


def _decoded(message: Any) -> tuple[str, _Pixels]:
    """The encoding of the pixels, and the pixels as stored."""
    if hasattr(message, "encoding"):
        return message.encoding, _raw_pixels(message)
    data = _bytes(message.data)
    if "compressedDepth" in message.format:
        is_float = message.format.startswith("32FC1")
        if not (is_float or message.format.startswith("16UC1")) or "rvl" in message.format:
            raise PlannerError(
                f"compressed depth of kind {message.format!r} is not read, only 16UC1 and 32FC1 "
                "as PNG"
            )
        data, header = data[_DEPTH_HEADER.size :], data[: _DEPTH_HEADER.size]
        if is_float:
            return "32FC1", _metres(_unpacked(data), header)
    pixels = _unpacked(data)
    return (message.format.split(";")[0] or "bgr8") if pixels.ndim == 2 else "bgr8", pixels


def _metres(quanta: _Pixels, header: bytes) -> DepthImage:
    """Depths in metres, 0 = not measured, from whole numbers that grow with the inverse depth.

    The header's two numbers a and b say how: depth = a / (quantum - b); quantum 0 = not measured.
    """
    if len(header) < _DEPTH_HEADER.size or quanta.dtype != np.uint16:
        raise PlannerError("the compressed depth cannot be read: its header or data are damaged")
    _, a, b = _DEPTH_HEADER.unpack(header)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        metres = np.float32(a) / (quanta.astype(np.float32) - np.float32(b))
    found: DepthImage = np.where(quanta > 0, metres, np.float32(0)).astype(np.float32)
    return found


def _raw_pixels(message: Any) -> _Pixels:
    if message.encoding not in _ENCODINGS:
        raise PlannerError(f"pictures in {message.encoding!r} are not read")
    code, channels = _ENCODINGS[message.encoding]
    dtype = np.dtype(code).newbyteorder(">" if message.is_bigendian else "<")
    height, width, row = int(message.height), int(message.width), int(message.step)
    data = _bytes(message.data)
    used = width * channels * dtype.itemsize
    if height * width == 0 or row < used or len(data) < row * height:
        reason = f"{len(data)} bytes for {height} rows of {row} bytes"
        raise PlannerError(f"the picture's data do not fill {width} x {height}: {reason}")
    rows = np.frombuffer(data, np.uint8, row * height).reshape(height, row)[:, :used]
    pixels = np.ascontiguousarray(rows).view(dtype).astype(np.dtype(code), copy=False)
    return pixels.reshape((height, width) if channels == 1 else (height, width, channels))


def _unpacked(data: bytes) -> _Pixels:
    try:
        # Reads only the header first: a few bytes can claim to be gigabytes.
        with PillowImage.open(io.BytesIO(data), formats=("JPEG", "PNG")) as head:
            width, height = head.size
    except (OSError, ValueError, SyntaxError, PillowImage.DecompressionBombError) as error:
        raise PlannerError(f"the compressed picture cannot be read: {error}") from None
    if width * height > MAX_PIXELS:
        raise PlannerError(f"a picture of {width} x {height} pixels is larger than {MAX_PIXELS}")
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise PlannerError(f"the compressed picture cannot be read: {error}") from None
    if pixels is None:
        raise PlannerError("the compressed picture cannot be read: its data are damaged")
    return pixels


def _encoded(kind: str, pixels: _Pixels, options: list[int]) -> bytes:
    done, data = cv2.imencode(kind, pixels, options)
    if not done:
        raise PlannerError(f"a picture of shape {pixels.shape} cannot be written as {kind}")
    return data.tobytes()


def _bytes(data: object) -> bytes:
    if isinstance(data, np.ndarray):
        return data.tobytes()
    return bytes(data)  # type: ignore[call-overload,no-any-return]


# Camera models of others (sensor_msgs/CameraInfo), and pictures as an ideal pinhole sees them.
#
# Messages are accessed by their fields, so the same code works with rclpy's classes and a bag
# reader's, without ROS.

# Number of coefficients of the distortion models of sensor_msgs/distortion_models.
_BROWN = {"plumb_bob": (4, 5), "rational_polynomial": (8, 12, 14)}
_FISHEYE = {"equidistant": (4,), "fisheye": (4,)}
_COUNTS = {**_BROWN, **_FISHEYE}


@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """A camera's model.

    Attributes:
        intrinsics: of the ideal pinhole whose pictures `straightened` makes.
        maps: for each of its pixels the column and row of the camera's own picture, (h, w)
            float32 each; None for a camera without distortion.
    """

    intrinsics: Intrinsics
    maps: tuple[NDArray[np.float32], NDArray[np.float32]] | None = field(default=None, repr=False)

    def straightened(self, rgb: RgbImage, depth_m: DepthImage) -> tuple[RgbImage, DepthImage]:
        """A picture and its registered depth without distortion; 0 m where there was none.

        Raises:
            PlannerError: if either is not of the camera's size.
        """
        size = (self.intrinsics.height_px, self.intrinsics.width_px)
        for kind, shape in (("picture", rgb.shape[:2]), ("depth", depth_m.shape)):
            if shape != size:
                raise PlannerError(
                    f"a {kind} of {shape[1]} x {shape[0]} pixels, but its camera_info says "
                    f"{size[1]} x {size[0]}"
                )
        if self.maps is None:
            return rgb, depth_m
        columns, rows = self.maps
        straight = cv2.remap(rgb, columns, rows, cv2.INTER_LINEAR)
        # Between two depths there is nothing: an edge must not become a slope.
        depths = cv2.remap(depth_m, columns, rows, cv2.INTER_NEAREST)
        return straight.astype(np.uint8, copy=False), depths.astype(np.float32, copy=False)


def lens_of(message: Any, *, rectified: bool = False) -> Lens:
    """The lens that a sensor_msgs/CameraInfo describes.

    Args:
        message: of the camera.
        rectified: whether its pictures are rectified already, as on topics `image_rect`: then the
            projection matrix `p` is theirs and there is no distortion.

    Raises:
        PlannerError: if it is not calibrated, or its model is not known here.
    """
    if rectified:
        return Lens(_projected(message))
    intrinsics = intrinsics_of(message)
    if max(int(message.binning_x), int(message.binning_y)) > 1 or int(message.roi.width) not in (
        0,
        intrinsics.width_px,
    ):
        raise PlannerError("camera_info of binned or cropped pictures is not read")
    factors = np.array([float(value) for value in message.d], np.float64)
    if not np.any(factors):
        return Lens(intrinsics)
    model = str(message.distortion_model)
    if len(factors) not in _COUNTS.get(model, ()) or not np.all(np.isfinite(factors)):
        known = ", ".join(_COUNTS)
        raise PlannerError(
            f"camera_info with {len(factors)} numbers of the distortion model {model!r} is not "
            f"read; models are {known}"
        )
    matrix = np.array(
        [
            [intrinsics.fx_px, 0.0, intrinsics.cx_px],
            [0.0, intrinsics.fy_px, intrinsics.cy_px],
            [0.0, 0.0, 1.0],
        ]
    )
    size, turned = (intrinsics.width_px, intrinsics.height_px), np.eye(3)
    maps_of = cv2.fisheye if model in _FISHEYE else cv2
    columns, rows = maps_of.initUndistortRectifyMap(
        matrix, factors, turned, matrix, size, cv2.CV_32FC1
    )
    return Lens(intrinsics, (columns.astype(np.float32), rows.astype(np.float32)))


def _projected(message: Any) -> Intrinsics:
    """The intrinsics in the projection matrix."""
    fx, cx, fy, cy = (float(message.p[i]) for i in (0, 2, 5, 6))
    if fx < 0 or fy < 0:
        raise PlannerError(f"camera_info of a mirrored picture (p[0] is {fx:g}, p[5] is {fy:g})")
    if not (fx > 0 and fy > 0):
        raise PlannerError("camera_info of rectified pictures without a projection (p[0] is 0)")
    return Intrinsics(int(message.width), int(message.height), fx, fy, cx, cy)
