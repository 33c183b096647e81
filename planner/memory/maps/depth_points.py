"""From pixels with a depth to points, many at once (HELPER-2.8.1)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, DepthImage, Intrinsics

Points = NDArray[np.float32]


def points_in_map(frame: CameraFrame) -> Points:
    """(3, h * w) of x, y and z in `map`, in the order of the pixels; NaN or far off without depth.

    Pixels whose depth is 0 come out at the camera itself: callers have to leave them out.
    """
    return _placed(frame.depth_m, frame.intrinsics, frame.pose)


def points_in_reference(
    depth_m: DepthImage, intrinsics: Intrinsics, reference_to_camera: Pose
) -> Points:
    """(3, h * w) points in the reference view's frame.

    Args:
        depth_m: (h, w) along the optical axis.
        intrinsics: of the camera.
        reference_to_camera: the paper's G, which takes points of the reference view into this one;
            its inverse is applied.
    """
    return _placed(depth_m, intrinsics, reference_to_camera.inverse())


def _placed(depth_m: DepthImage, intrinsics: Intrinsics, camera: Pose) -> Points:
    rotation = camera.rotation().astype(np.float32)
    across, down = _rays(intrinsics)
    depth = np.asarray(depth_m, np.float32)
    points: Points = np.empty((3, *depth.shape), np.float32)
    for axis, (right, below, ahead) in enumerate(rotation):
        # A ray's columns and rows are independent: a sum of two vectors is cheaper than a product
        # of matrices.
        np.add((right * across)[None, :], (below * down + ahead)[:, None], out=points[axis])
        points[axis] *= depth
        points[axis] += np.float32(camera.position_m[axis])
    return points.reshape(3, -1)


@lru_cache(maxsize=8)
def _rays(intrinsics: Intrinsics) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(w,) and (h,): x of each column's and y of each row's points at depth 1, optical frame."""
    u = (np.arange(intrinsics.width_px) - intrinsics.cx_px) / intrinsics.fx_px
    v = (np.arange(intrinsics.height_px) - intrinsics.cy_px) / intrinsics.fy_px
    return u.astype(np.float32), v.astype(np.float32)
