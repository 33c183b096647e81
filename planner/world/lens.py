"""Camera models of others (sensor_msgs/CameraInfo), and pictures as an ideal pinhole sees them.

Messages are accessed by their fields, so the same code works with rclpy's classes and a bag
reader's, without ROS.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.observation import DepthImage, Intrinsics, RgbImage
from planner.world.wire import intrinsics_of

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
    if not message.p[0] > 0:
        raise PlannerError("camera_info of rectified pictures without a projection (p[0] is 0)")
    fx, cx, fy, cy = (float(message.p[i]) for i in (0, 2, 5, 6))
    return Intrinsics(int(message.width), int(message.height), fx, fy, cx, cy)
