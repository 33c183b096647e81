"""Projection between depth images and points in `map`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray, Pose, Vec3
from planner.world.observation import CameraFrame, Intrinsics


def unproject(
    intrinsics: Intrinsics, pose: Pose, pixel: tuple[float, float], depth_m: float
) -> Vec3:
    """The point of `map` at a pixel (u, v) and a depth along the optical axis.

    `pose` is the optical frame (z forward, x right, y down) in `map` (EPM-2.2).
    """
    u, v = pixel
    x = (u - intrinsics.cx_px) / intrinsics.fx_px * depth_m
    y = (v - intrinsics.cy_px) / intrinsics.fy_px * depth_m
    return pose.apply((x, y, depth_m))


def project(intrinsics: Intrinsics, pose: Pose, points_m: FloatArray) -> FloatArray:
    """(n, 3) of u, v and depth for (n, 3) points of `map`; u and v are NaN behind the camera."""
    optical = (points_m - np.asarray(pose.position_m)) @ pose.rotation()
    depth = optical[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.where(depth > 0, depth, np.nan)
        u = optical[:, 0] / ahead * intrinsics.fx_px + intrinsics.cx_px
        v = optical[:, 1] / ahead * intrinsics.fy_px + intrinsics.cy_px
    projected: FloatArray = np.stack([u, v, depth], axis=1)
    return projected


def in_image(intrinsics: Intrinsics, projected: FloatArray, margin_px: float) -> NDArray[np.bool_]:
    """Which rows of `project` lie in the image, at least `margin_px` from its edges."""
    u, v = projected[:, 0], projected[:, 1]
    inside: NDArray[np.bool_] = (u >= margin_px) & (u < intrinsics.width_px - margin_px)
    inside &= (v >= margin_px) & (v < intrinsics.height_px - margin_px)
    return inside


def point_at_pixel(frame: CameraFrame, pixel: tuple[float, float]) -> tuple[Vec3, float] | str:
    """The point of `map` that a pixel shows and its depth, or why there is none."""
    u, v = pixel
    height, width = frame.depth_m.shape[:2]
    if not (0 <= u < width and 0 <= v < height):
        return f"({u:g}, {v:g}) is outside the image of {width}x{height}"
    depth_m = float(frame.depth_m[int(v), int(u)])
    if not (math.isfinite(depth_m) and depth_m > 0):
        return f"there is no depth at ({u:g}, {v:g})"
    return unproject(frame.intrinsics, frame.pose, pixel, depth_m), depth_m
