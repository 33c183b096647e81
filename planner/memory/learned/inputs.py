"""What the network is shown: a camera frame as numbers, and where its cells lie in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.network import INPUT_CHANNELS, STRIDE, Array
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics

# Depth and height are scaled so that most values lie between 0 and 1; far ones are cut.
_DEPTH_UNIT_M, _MAX_DEPTH = 4.0, 2.0
_HEIGHT_UNIT_M, _HEIGHT_LIMITS = 2.0, (-0.5, 1.5)
# A cell stands for the pixel at its middle.
CELL_PIXEL = STRIDE // 2


def network_input(frame: CameraFrame) -> Array:
    """(INPUT_CHANNELS, h, w): red, green, blue, depth and height above the floor of `map`.

    Where there is no finite depth above 0, depth and height are 0.
    """
    height, width = frame.depth_m.shape
    depth = clean_depth(frame.depth_m)
    image = np.empty((INPUT_CHANNELS, height, width), np.float32)
    image[:3] = np.moveaxis(frame.rgb, 2, 0)
    image[:3] *= np.float32(1 / 255)
    image[:3] -= np.float32(0.5)
    np.minimum(depth * np.float32(1 / _DEPTH_UNIT_M), _MAX_DEPTH, out=image[3])
    low, high = _HEIGHT_LIMITS
    heights = _heights(frame.intrinsics, frame.pose, depth)
    image[4] = np.where(depth > 0, np.clip(heights / np.float32(_HEIGHT_UNIT_M), low, high), 0)
    return image


def clean_depth(depth_m: NDArray[np.float32]) -> Array:
    """Depth with 0 in place of what is not finite or not above 0."""
    clean: Array = np.where(np.isfinite(depth_m) & (depth_m > 0), depth_m, 0).astype(np.float32)
    return clean


def _heights(intrinsics: Intrinsics, pose: Pose, depth_m: Array) -> Array:
    """(h, w) heights of the pixels' points in `map`."""
    down = pose.rotation()[2]
    height, width = depth_m.shape
    across = (np.arange(width, dtype=np.float32) - intrinsics.cx_px) / intrinsics.fx_px * down[0]
    along = (np.arange(height, dtype=np.float32) - intrinsics.cy_px) / intrinsics.fy_px * down[
        1
    ] + down[2]
    slope = across.astype(np.float32)[None, :] + along.astype(np.float32)[:, None]
    heights: Array = depth_m * slope + np.float32(pose.position_m[2])
    return heights


def cell_points(intrinsics: Intrinsics, depth_m: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(h / 4, w / 4, 3) points of the cells in the optical frame, and where there is depth."""
    cells = depth_m[CELL_PIXEL::STRIDE, CELL_PIXEL::STRIDE]
    rows, columns = cells.shape
    u = np.arange(columns, dtype=np.float32) * STRIDE + CELL_PIXEL
    v = np.arange(rows, dtype=np.float32) * STRIDE + CELL_PIXEL
    x = cells * ((u - np.float32(intrinsics.cx_px)) / np.float32(intrinsics.fx_px))[None, :]
    y = cells * ((v - np.float32(intrinsics.cy_px)) / np.float32(intrinsics.fy_px))[:, None]
    points: Array = np.stack([x, y, cells], axis=-1).astype(np.float32)
    return points, cells > 0
