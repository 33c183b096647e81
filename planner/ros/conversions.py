"""Times, poses, pictures and floor maps between our records and ROS messages."""

from __future__ import annotations

import array
import sys
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Transform, TransformStamped, Vector3
from geometry_msgs.msg import Pose as PoseMessage
from nav_msgs.msg import OccupancyGrid
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import Header

from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import DepthImage, InstanceImage, Intrinsics, RgbImage
from planner.world.picture_codec import (
    DEPTH_FORMAT,
    decode_colour,
    decode_depth,
    encode_depth,
    packed_colour,
)


def time_message(stamp_s: float) -> Time:
    """Seconds of a clock that started at 0 or later, to the nanosecond."""
    nanoseconds = round(stamp_s * 1e9)
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def header(stamp_s: float, frame: str) -> Header:
    """A header with these two."""
    return Header(stamp=time_message(stamp_s), frame_id=frame)


def point_message(point_m: Vec3) -> Point:
    """A point in metres."""
    x, y, z = map(float, point_m)
    return Point(x=x, y=y, z=z)


def point_m(message: Point | Vector3) -> Vec3:
    """A point or vector as a tuple."""
    return (float(message.x), float(message.y), float(message.z))


def pose_message(pose: Pose) -> PoseMessage:
    """A pose; quaternions are (x, y, z, w) on both sides."""
    x, y, z, w = map(float, pose.orientation)
    return PoseMessage(
        position=point_message(pose.position_m), orientation=Quaternion(x=x, y=y, z=z, w=w)
    )


def pose_record(message: PoseMessage) -> Pose:
    """The inverse of `pose_message`."""
    turn = message.orientation
    return Pose(
        point_m(message.position), (float(turn.x), float(turn.y), float(turn.z), float(turn.w))
    )


def stamped_pose(stamp_s: float, frame: str, pose: Pose) -> PoseStamped:
    """A pose with its time and frame."""
    return PoseStamped(header=header(stamp_s, frame), pose=pose_message(pose))


def transform_message(stamp_s: float, parent: str, child: str, pose: Pose) -> TransformStamped:
    """The pose of frame `child` in frame `parent`, as tf expects it."""
    x, y, z = map(float, pose.position_m)
    qx, qy, qz, qw = map(float, pose.orientation)
    return TransformStamped(
        header=header(stamp_s, parent),
        child_frame_id=child,
        transform=Transform(
            translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw)
        ),
    )


# Pictures between arrays and sensor_msgs, with one copy each way.
#
# Depth is read from 32FC1 (metres, NaN where nothing was measured, REP-118) and
# from 16UC1 (millimetres, 0 where nothing was measured), by the message's encoding.

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


# Pictures to their compressed form, both serialised, with image_transport's topic names.

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
# Suffixes of the picture's topic.
COLOUR_SUFFIX, DEPTH_SUFFIX = "/compressed", "/compressedDepth"
_SUFFIXES = {
    "rgb8": COLOUR_SUFFIX,
    "bgr8": COLOUR_SUFFIX,
    "32FC1": DEPTH_SUFFIX,
    "16UC1": DEPTH_SUFFIX,
}


def compressed(data: bytes) -> tuple[str, bytes]:
    """Compresses a picture; returns the suffix of its topic and the message.

    Args:
        data: a serialised sensor_msgs/Image.

    Returns:
        "" and the same data for pictures that have no compressed form, such as instance ids.

    Raises:
        PlannerError: if the data do not fill the picture.
    """
    message: Image = deserialize_message(data, Image)
    suffix = _SUFFIXES.get(message.encoding, "")
    if not suffix:
        return "", data
    if suffix == COLOUR_SUFFIX:
        packed, kind = packed_colour(rgb_array(message))
    else:
        packed, kind = encode_depth(depth_array(message)), DEPTH_FORMAT
    result = CompressedImage(header=message.header, format=kind, data=packed)
    return suffix, serialize_message(result)


def raw(data: bytes) -> bytes:
    """The raw picture of a compressed one: rgb8, or 16UC1 (millimetres) of a compressed depth.

    Args:
        data: a serialised sensor_msgs/CompressedImage.

    Raises:
        PlannerError: if the data are no such picture.
    """
    message: CompressedImage = deserialize_message(data, CompressedImage)
    if "compressedDepth" in message.format:
        picture = depth_message(message.header, decode_depth(message), "16UC1")
    else:
        picture = rgb_message(message.header, decode_colour(message))
    result: bytes = serialize_message(picture)
    return result


# Floor maps as nav_msgs/OccupancyGrid, both ways.

FRAME = "map"
# Larger ones are refused: 400 m at 0.05 m.
MAX_CELLS = 64_000_000


def map_message(floor: FloorMap, load_s: float = 0.0) -> OccupancyGrid:
    """A floor map in `map`; `load_s` is when it was begun, on the world's clock."""
    message = OccupancyGrid(header=header(floor.stamp_s, FRAME))
    message.info.map_load_time = header(load_s, FRAME).stamp
    message.info.resolution = floor.cell_m
    message.info.height, message.info.width = floor.cells.shape
    message.info.origin = pose_message(Pose.planar(*floor.origin_m))
    message.data = array.array("b", np.ascontiguousarray(floor.cells).tobytes())
    return message


def map_record(message: OccupancyGrid) -> FloorMap:
    """The floor map of a message.

    Values between free and occupied, which other software may send, count as occupied from 50 on.

    Raises:
        PlannerError: naming the field, if sizes do not fit, or the map is turned or not in `map`.
    """
    info = message.info
    rows, columns = int(info.height), int(info.width)
    if rows * columns != len(message.data) or not 0 < rows * columns <= MAX_CELLS:
        raise PlannerError(f"data: {len(message.data)} cells, info says {columns} x {rows}")
    if message.header.frame_id.lstrip("/") != FRAME:
        raise PlannerError(f"header.frame_id: expected {FRAME}, got {message.header.frame_id!r}")
    turned = info.origin.orientation
    if abs(turned.x) > 1e-6 or abs(turned.y) > 1e-6 or abs(turned.z) > 1e-6:
        raise PlannerError("info.origin.orientation: turned maps are not read")
    values = np.frombuffer(message.data, np.int8).reshape(rows, columns)
    cells = np.full((rows, columns), UNKNOWN, np.int8)
    cells[(values >= FREE) & (values < OCCUPIED // 2)] = FREE
    cells[values >= OCCUPIED // 2] = OCCUPIED
    origin = info.origin.position
    stamp_s = stamp_seconds(message.header.stamp)
    # A message's resolution has the precision of a float.
    return FloorMap(cells, (origin.x, origin.y), round(float(info.resolution), 6), stamp_s)
