"""Pictures of the robot's cameras, taken or newest, and projection of points into them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from bosdyn.api import image_pb2

from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.observation import DepthImage, Intrinsics, RgbImage
from sim_bridge.spot.connection import SDK_ERRORS, explain
from sim_bridge.spot.convert import pose_in, seconds_of
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.options import SpotOptions

INVALID_DEPTHS = (0, 65535)
# Bytes a pixel of raw pictures that are shown.
_CHANNELS = {
    image_pb2.Image.PIXEL_FORMAT_GREYSCALE_U8: 1,
    image_pb2.Image.PIXEL_FORMAT_RGB_U8: 3,
    image_pb2.Image.PIXEL_FORMAT_RGBA_U8: 4,
}
# A camera that looks nearly straight up or down has no upright picture.
_NO_UP = 0.2


@dataclass(frozen=True, slots=True)
class Picture:
    """Colour and depth of one moment.

    Attributes:
        rgb, depth_m: pixels, in the order of the turned picture.
        intrinsics, in_odom: the pinhole and the optical frame of the turned picture.
        taken_s: robot time.
        turns: quarter turns, counterclockwise, by which it was turned; 0 for `color`.
        color: the robot's answer, unchanged.
    """

    rgb: RgbImage
    depth_m: DepthImage
    intrinsics: Intrinsics
    in_odom: Pose
    taken_s: float
    color: Any
    turns: int = 0

    def pixel_of(self, point_m: Vec3) -> tuple[float, float] | None:
        """The pixel of a point of the odometry frame; None if outside."""
        x, y, z = self.in_odom.inverse().apply(point_m)
        if z <= 0.05:
            return None
        u = self.intrinsics.fx_px * x / z + self.intrinsics.cx_px
        v = self.intrinsics.fy_px * y / z + self.intrinsics.cy_px
        inside = 0 <= u <= self.intrinsics.width_px - 1 and 0 <= v <= self.intrinsics.height_px - 1
        return (u, v) if inside else None

    def point_at(self, pixel: tuple[float, float]) -> Vec3 | None:
        """The measured point at a pixel, in the odometry frame; None if not measured."""
        u, v = pixel
        depth = float(self.depth_m[round(v), round(u)])
        if depth <= 0:
            return None
        x = (u - self.intrinsics.cx_px) / self.intrinsics.fx_px * depth
        y = (v - self.intrinsics.cy_px) / self.intrinsics.fy_px * depth
        return self.in_odom.apply((x, y, depth))


def read_picture(color: Any, depth: Any, *, upright: bool = False) -> Picture:
    """Reads the responses of a colour and of a depth source that share one frame.

    Args:
        color: the one response.
        depth: the other, of the same moment.
        upright: turn by quarters, so that up is up for a camera that the body carries rolled.

    Raises:
        PlannerError: if a source failed, is no pinhole, or the two do not match.
    """
    for answer in (color, depth):
        if answer.status != image_pb2.ImageResponse.STATUS_OK:
            word = image_pb2.ImageResponse.Status.Name(answer.status)
            raise PlannerError(f"picture {answer.source.name!r}: {word}")
    rgb = _rgb(color)
    metres = _metres(depth)
    if rgb.shape[:2] != metres.shape:
        raise PlannerError(
            f"{color.source.name} has {rgb.shape[:2]} pixels and {depth.source.name} "
            f"{metres.shape}; configure a depth source that is registered to the colour one"
        )
    model = color.source.WhichOneof("camera_models")
    if model not in (None, "pinhole"):
        raise PlannerError(
            f"picture {color.source.name!r}: its camera model is {model}; only pinhole is supported"
        )
    pinhole = color.source.pinhole.intrinsics
    if pinhole.focal_length.x <= 0 or pinhole.focal_length.y <= 0:
        raise PlannerError(f"picture {color.source.name!r}: no calibration")
    shot = color.shot
    found = Picture(
        rgb=rgb,
        depth_m=metres,
        intrinsics=Intrinsics(
            width_px=rgb.shape[1],
            height_px=rgb.shape[0],
            fx_px=pinhole.focal_length.x,
            fy_px=pinhole.focal_length.y,
            cx_px=pinhole.principal_point.x,
            cy_px=pinhole.principal_point.y,
        ),
        in_odom=pose_in(shot.transforms_snapshot, "odom", shot.frame_name_image_sensor),
        taken_s=seconds_of(shot.acquisition_time),
        color=color,
    )
    if not upright:
        return found
    on_body = pose_in(shot.transforms_snapshot, "body", shot.frame_name_image_sensor)
    return turned(found, quarter_turns(on_body))


def quarter_turns(on_body: Pose) -> int:
    """Counterclockwise quarter turns, 0 to 3, by which a camera's pictures are nearest to upright.

    Args:
        on_body: the optical frame in the body's, whose z points up.
    """
    right, down, _ = on_body.rotation()[2]
    if math.hypot(right, down) < _NO_UP:
        return 0
    # How far up is from the picture's top, counterclockwise.
    rolled = math.atan2(-right, -down)
    return -round(rolled / (math.pi / 2)) % 4


def turned(picture: Picture, turns: int) -> Picture:
    """The picture turned counterclockwise by quarters, with its pinhole and frame."""
    lens, pose = picture.intrinsics, picture.in_odom
    for _ in range(turns):
        lens = Intrinsics(
            width_px=lens.height_px,
            height_px=lens.width_px,
            fx_px=lens.fy_px,
            fy_px=lens.fx_px,
            cx_px=lens.cy_px,
            cy_px=lens.width_px - 1 - lens.cx_px,
        )
        pose = pose.compose(Pose.planar(0.0, 0.0, math.pi / 2))
    return replace(
        picture,
        rgb=np.ascontiguousarray(np.rot90(picture.rgb, turns)),
        depth_m=np.ascontiguousarray(np.rot90(picture.depth_m, turns)),
        intrinsics=lens,
        in_odom=pose,
        turns=turns,
    )


def _rgb(answer: Any) -> RgbImage:
    image = answer.shot.image
    raw = np.frombuffer(image.data, np.uint8)
    if image.format == image_pb2.Image.FORMAT_RAW:
        channels = _CHANNELS.get(image.pixel_format)
        if channels is None or raw.size != image.rows * image.cols * channels:
            kind = image_pb2.Image.PixelFormat.Name(image.pixel_format)
            raise PlannerError(
                f"picture {answer.source.name!r}: {raw.size} bytes are no colour or grey picture "
                f"of {image.cols} x {image.rows} pixels ({kind})"
            )
        pixels = raw.reshape(image.rows, image.cols, channels)
        return np.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, :3]
    decoded = cv2.imdecode(raw, cv2.IMREAD_COLOR)
    if decoded is None:
        raise PlannerError(f"picture {answer.source.name!r}: cannot be decoded")
    return np.ascontiguousarray(decoded[:, :, ::-1]).astype(np.uint8, copy=False)


def _metres(answer: Any) -> DepthImage:
    image, scale = answer.shot.image, answer.source.depth_scale
    if image.pixel_format != image_pb2.Image.PIXEL_FORMAT_DEPTH_U16 or scale <= 0:
        raise PlannerError(f"picture {answer.source.name!r}: is not a depth picture")
    if image.format != image_pb2.Image.FORMAT_RAW or len(image.data) != 2 * image.rows * image.cols:
        raise PlannerError(
            f"picture {answer.source.name!r}: {len(image.data)} bytes are no raw depth picture of "
            f"{image.cols} x {image.rows} pixels"
        )
    raw = np.frombuffer(image.data, "<u2").reshape(image.rows, image.cols)
    metres = raw.astype(np.float32) / np.float32(scale)
    metres[np.isin(raw, INVALID_DEPTHS)] = 0.0
    return metres


def distance_m(one: Vec3 | None, other: Vec3) -> float:
    """Distance of two points; infinite if one is None."""
    return math.inf if one is None else math.dist(one, other)


# Pictures of the robot: taken synchronously, or the newest one of a thread.

# How long a requested camera keeps being polled.
REQUEST_LIFETIME_S = 2.0
# Maximum age of the hand picture shown with an approval question.
HAND_PERIOD_S = 1.0
HAND = "hand"


class Cameras:
    """The robot's cameras; `report` gets the reason for missing pictures, or ""."""

    def __init__(self, link: SpotLink, options: SpotOptions, report: Callable[[str], None]) -> None:
        self._link, self._options, self._report = link, options, report
        self._lock = threading.Lock()
        self._requested_s: dict[str, float] = {}
        self._newest: dict[str, Picture] = {}
        self._hand_taken_s = 0.0
        self._problem = ""

    def take(self, cameras: Sequence[str]) -> dict[str, Picture]:
        """Takes pictures of one moment; blocks.

        Raises:
            PlannerError: with the reason, if there are none.
        """
        if not cameras:
            return {}
        names = [name for camera in cameras for name in self._options.cameras[camera]]
        try:
            answers = self._link.images(names, self._options.jpeg_quality)
        except SDK_ERRORS as error:
            self._report(explain(error))
            raise PlannerError(f"spot: no pictures: {explain(error)}") from error
        self._report("")
        return {
            # The hand's stays as it is: grasps are requested at its pixels, and its wrist turns.
            camera: read_picture(answers[2 * index], answers[2 * index + 1], upright=camera != HAND)
            for index, camera in enumerate(cameras)
        }

    def newest(self, cameras: Sequence[str]) -> Mapping[str, Picture]:
        """The newest pictures, without waiting; a camera has none before the first `look`.

        Raises:
            PlannerError: with the reason, if the last attempt failed.
        """
        now_s = time.monotonic()
        with self._lock:
            self._requested_s.update(dict.fromkeys(cameras, now_s))
            if cameras and self._problem:
                raise PlannerError(self._problem)
            return {name: self._newest[name] for name in cameras if name in self._newest}

    def look(self) -> None:
        """Takes the requested pictures."""
        now_s = time.monotonic()
        with self._lock:
            due = {
                name
                for name, at_s in self._requested_s.items()
                if now_s - at_s < REQUEST_LIFETIME_S
            }
        if HAND in self._options.cameras and now_s - self._hand_taken_s >= HAND_PERIOD_S:
            due.add(HAND)
        if not due:
            return
        if HAND in due:
            self._hand_taken_s = now_s
        try:
            taken, trouble = self.take(sorted(due)), ""
        except PlannerError as error:
            taken, trouble = {}, str(error)
        with self._lock:
            self._newest.update(taken)
            self._problem = trouble
