"""Grasps for a parallel gripper, planned from one depth picture at a target point.

Nothing is known of the thing but what the picture shows: what stands out of the surface below the
target, its outline from above, its top. Frame: the robot's base, metres.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage

from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray, Pose, Vec3
from planner.world.observation import CameraFrame

# The part of the picture around the target that is looked at.
AROUND_M = 0.3
# Points of one surface lie within this; the noise of a depth camera grows with the distance.
SURFACE_M = 0.006
NOISE_SHARE = 0.004
CELL_M = 0.008
# Anything wider is furniture, or several things that touch.
WIDEST_M = 0.45
SPARE_M = 0.008
# Fingers hold a thing this far below its top, and stay this far above what it lies on.
DEEP_M, CLEAR_M = 0.035, 0.012
# From the side only what stands up is taken.
UPRIGHT_M = 0.05
TURNS_RAD = (0.0, 0.5, -0.5, 1.0, -1.0)


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands out of a surface.

    Attributes:
        center_m: middle of its outline, at half of its height.
        size_m: length and width of the smallest rectangle around its outline, and its height.
        yaw_rad: of the rectangle's length.
        support_m: height of the surface.
        outline: (n, 2) its points from above.
    """

    center_m: Vec3
    size_m: Vec3
    yaw_rad: float
    support_m: float
    outline: FloatArray

    @property
    def top_m(self) -> float:
        """The height of its top."""
        return self.support_m + self.size_m[2]

    def across_m(self, direction: tuple[float, float]) -> float:
        """Its extent along a horizontal direction of length 1."""
        along = self.outline @ np.array(direction)
        return float(along.max() - along.min())


@dataclass(frozen=True, slots=True)
class Grasp:
    """Where to close the gripper.

    Attributes:
        tool: x in the direction of approach, y along which the fingers close.
        width_m: what is between the fingers.
        above_m: height of the tool above the surface that the thing stands on.
        kind: `top`, `side` or `service`, for people.
    """

    tool: Pose
    width_m: float
    above_m: float
    kind: str

    def before(self, back_m: float) -> Pose:
        """The same pose, so far back."""
        return self.tool.compose(Pose((-back_m, 0.0, 0.0)))


def points_of(frame: CameraFrame, target_m: Vec3) -> FloatArray:
    """(n, 3) the points around a target; picture and target in one frame.

    The optical frame's pose in that frame is `frame.pose`.
    """
    height, width = frame.depth_m.shape
    lens = frame.intrinsics
    rows, columns = np.mgrid[0:height, 0:width]
    depth = frame.depth_m.astype(np.float64)
    seen = depth > 0
    ahead = depth[seen]
    points = np.stack(
        [
            (columns[seen] - lens.cx_px) / lens.fx_px * ahead,
            (rows[seen] - lens.cy_px) / lens.fy_px * ahead,
            ahead,
        ],
        axis=1,
    )
    placed = points @ frame.pose.rotation().T + np.array(frame.pose.position_m)
    near = np.abs(placed - np.array(target_m)).max(axis=1) <= AROUND_M
    return np.asarray(placed[near])


def standing_at(frame: CameraFrame, target_m: Vec3, tolerance_m: float = 0.0) -> Standing:
    """What stands at a target.

    Args:
        frame: a picture with the target in view; its pose and the target in the base.
        target_m: any point of it.
        tolerance_m: how far it may be from the target; at least 5 cm.

    Raises:
        PlannerError: if nothing is there, or the picture does not show the place.
    """
    points = points_of(frame, target_m)
    if len(points) < 50:
        raise PlannerError("the picture does not show the place")
    range_m = math.dist(frame.pose.position_m, target_m)
    thick_m = max(SURFACE_M, NOISE_SHARE * range_m)
    support_m = _support(points, target_m, thick_m)
    above = points[points[:, 2] > support_m + thick_m]
    cell_m = _cell_m(frame, above, range_m)
    part = _nearest_part(above, target_m, max(tolerance_m, 0.05), cell_m)
    if part is None:
        raise PlannerError("nothing stands out of the surface at the target")
    rectangle = cv2.minAreaRect(part[:, :2].astype(np.float32))
    (x, y), (length, width), degrees = rectangle
    yaw = math.radians(degrees)
    if width > length:
        length, width, yaw = width, length, yaw + math.pi / 2
    if length > WIDEST_M:
        raise PlannerError(f"what is at the target is {length:.2f} m wide: no single thing")
    high_m = float(np.percentile(part[:, 2], 98)) - support_m
    center = (float(x), float(y), support_m + high_m / 2)
    size = (float(length), float(width), high_m)
    return Standing(center, size, yaw, support_m, part[:, :2])


def _support(points: FloatArray, target_m: Vec3, thick_m: float) -> float:
    """The height of the surface below a target: the fullest level that is not above it."""
    heights = points[points[:, 2] < target_m[2] + thick_m, 2]
    if not len(heights):
        raise PlannerError("the picture shows nothing below the target")
    low = float(heights.min())
    counts = np.bincount(((heights - low) / thick_m).astype(int))
    # Levels meet in the middle of a surface now and then, so two are taken together.
    pairs = counts + np.append(counts[1:], 0)
    best = int(np.argmax(pairs))
    level = heights[np.abs(heights - low - (best + 1) * thick_m) <= thick_m]
    return float(np.median(level))


def _cell_m(frame: CameraFrame, above: FloatArray, range_m: float) -> float:
    """Wide enough for what is seen at a slant, where the rows of a picture lie further apart."""
    if not len(above):
        return CELL_M
    drop_m = max(frame.pose.position_m[2] - float(above[:, 2].max()), CELL_M)
    apart_m = range_m**2 / (frame.intrinsics.fy_px * drop_m)
    return min(max(CELL_M, 1.2 * apart_m), 2 * CELL_M)


def _nearest_part(
    points: FloatArray, target_m: Vec3, within_m: float, cell_m: float
) -> FloatArray | None:
    """The points that hang together, seen from above, and are nearest to the target."""
    if len(points) < 10:
        return None
    corner = points[:, :2].min(axis=0) - cell_m
    cells = ((points[:, :2] - corner) / cell_m).astype(int)
    taken = np.zeros(cells.max(axis=0) + 2, bool)
    taken[cells[:, 0], cells[:, 1]] = True
    labels, _ = ndimage.label(taken, structure=np.ones((3, 3)))
    of_point = labels[cells[:, 0], cells[:, 1]]
    gaps = np.hypot(points[:, 0] - target_m[0], points[:, 1] - target_m[1])
    order = np.argsort(gaps)
    for index in order[:2000]:
        if gaps[index] > within_m:
            return None
        part = points[of_point == of_point[index]]
        if len(part) >= 10:
            return np.asarray(part)
    return None


def grasps_for(thing: Standing, opens_m: float, *, covered: bool = False) -> list[Grasp]:
    """Grasps of what stands somewhere, the best first.

    Args:
        thing: as seen.
        opens_m: distance of the open fingers.
        covered: whether something is above it, so that no hand comes from there.

    Raises:
        PlannerError: if it is too wide in every direction.
    """
    top = [] if covered else list(_from_above(thing, opens_m))
    side = list(_from_sides(thing, opens_m))
    # Tall things would be held far above their middle from above.
    found = side + top if thing.size_m[2] > 2 * DEEP_M + UPRIGHT_M else top + side
    if not found:
        raise PlannerError(
            f"it is {thing.size_m[1]:.2f} m wide and {thing.size_m[2]:.2f} m high; the gripper "
            f"opens {opens_m:.2f} m" + (" and cannot come from above" if covered else "")
        )
    return found


def _from_above(thing: Standing, opens_m: float) -> Iterator[Grasp]:
    length_m, width_m, high_m = thing.size_m
    x, y, _ = thing.center_m
    z = max(thing.top_m - min(DEEP_M, 0.7 * high_m), thing.support_m + CLEAR_M)
    for across_m, yaw in ((width_m, thing.yaw_rad + math.pi / 2), (length_m, thing.yaw_rad)):
        if across_m > opens_m - SPARE_M:
            continue
        for half in (0.0, math.pi):
            closing = np.array([math.cos(yaw + half), math.sin(yaw + half), 0.0])
            tool = _tool((x, y, z), np.array([0.0, 0.0, -1.0]), closing)
            yield Grasp(tool, across_m, z - thing.support_m, "top")


def _from_sides(thing: Standing, opens_m: float) -> Iterator[Grasp]:
    x, y, _ = thing.center_m
    high_m = thing.size_m[2]
    if high_m < UPRIGHT_M:
        return
    z = thing.support_m + max(high_m / 2, min(high_m - 0.015, 0.04))
    away = math.atan2(y, x)
    for turn in TURNS_RAD:
        way = away + turn
        across = (-math.sin(way), math.cos(way))
        width_m = thing.across_m(across)
        if width_m > opens_m - SPARE_M:
            continue
        for sign in (1.0, -1.0):
            closing = np.array([sign * across[0], sign * across[1], 0.0])
            tool = _tool((x, y, z), np.array([math.cos(way), math.sin(way), 0.0]), closing)
            yield Grasp(tool, width_m, z - thing.support_m, "side")


def _tool(position_m: Vec3, approach: FloatArray, closing: FloatArray) -> Pose:
    rotation = np.stack([approach, closing, np.cross(approach, closing)], axis=1)
    return Pose.from_matrix(np.array(position_m), rotation)


def towards(position_m: Vec3, approach: Vec3, closing: Vec3) -> Pose:
    """A pose of the tool by its direction of approach and the direction in which it closes."""
    return _tool(position_m, np.array(approach), np.array(closing))
