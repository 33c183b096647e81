"""Where to point the camera to see a piece of furniture or a room."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from planner.skills.ground import CLOSE_M, to_map
from planner.skills.spots import opened_center
from planner.world.agents import CameraMount
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import Furniture, Interior

View = tuple[float, float]

# All around, with the floor in view from near the feet to across the room.
AROUND_RAD: tuple[View, ...] = (
    (0.0, 0.55),
    (1.25, 0.55),
    (2.5, 0.55),
    (-2.5, 0.55),
    (-1.25, 0.55),
)
# Twelve turns of 30 degrees that end where they began (ETPLAN-C16).
ROUND_RAD: tuple[View, ...] = tuple(
    (math.remainder(turn * math.tau / 12, math.tau) if turn < 12 else 0.0, 0.55)
    for turn in range(1, 13)
)
# Under boards and behind doors, more is visible from further away than a hand reaches.
BACK_M = 1.2
_LOW_M = 0.8
_RIM_M = 0.9
_HIGH_M = 1.2
# Width of a surface visible in one view from where an agent stands.
_SPAN_M = 0.9
_ALIKE_RAD = 0.35
_MAX_VIEWS = 8


@dataclass(frozen=True, slots=True)
class Stop:
    """What to look at from one place in front of furniture.

    Attributes:
        away_m: distance from the furniture; None for where its contents are within reach.
        points: to look at, in the map.
        before_m: a point of the furniture to stand at, instead of its middle.
    """

    away_m: float | None
    points: tuple[Vec3, ...]
    before_m: Vec3 | None = None


def stops(piece: Furniture, openness: float) -> tuple[Stop, ...]:
    """Where to look at furniture from: as a whole, then at what that does not show."""
    everything: list[Vec3] = []
    ends: list[Vec3] = []
    under: list[Vec3] = []
    bins: list[Vec3] = []
    for surface in piece.surfaces:
        points = _across(piece, surface.center, surface.size)
        everything += points
        if len(points) > 2 and piece.joints and not ends:
            # An egg at the end of a long counter is too small to be seen from its middle.
            ends = [points[0], points[-1]]
        if surface.clearance < _LOW_M or surface.center[2] > _HIGH_M:
            under += points
    for hollow in piece.interiors:
        if hollow.joint is not None and not openness > 0:
            continue
        center = opened_center(piece, hollow, openness)
        points = _across(piece, center, (hollow.size[0], hollow.size[1]))
        everything += points
        if _is_bin(piece, hollow):
            bins += points
        elif not hollow.moves:
            under += points
    found = [Stop(None, tuple(everything or [piece.box.center_m]))]
    found += [Stop(None, (end,), before_m=end) for end in ends]
    found += [Stop(CLOSE_M, tuple(bins))] if bins else []
    found += [Stop(BACK_M, tuple(under))] if under else []
    return tuple(found)


def _is_bin(piece: Furniture, hollow: Interior) -> bool:
    """Whether a hollow is open at its top, or has a lid there."""
    x, y, z = hollow.center
    top = z + hollow.size[2] / 2
    if any(
        surface.center[2] >= top - 0.05
        and abs(surface.center[0] - x) < surface.size[0] / 2
        and abs(surface.center[1] - y) < surface.size[1] / 2
        for surface in piece.surfaces
    ):
        return False
    if hollow.joint is None:
        return top < _RIM_M
    joint = piece.joint(hollow.joint)
    return joint.kind == "hinge" and abs(joint.axis[2]) < 0.5 and joint.origin[2] > z


def views_of(points: Iterable[Vec3], base: Pose, camera: CameraMount) -> tuple[View, ...]:
    """Pan and tilt (down positive) that together show some points of the map."""
    views: list[View] = []
    for point in points:
        view = view_of(point, base, camera)
        if all(math.dist(view, other) > _ALIKE_RAD for other in views):
            views.append(view)
    # Sorted from side to side, to avoid moving the camera back and forth.
    return tuple(sorted(views[:_MAX_VIEWS]))


def view_of(point_m: Vec3, base: Pose, camera: CameraMount) -> View:
    """Pan and tilt that bring a point of the map to the middle of the image."""
    x, y, _ = base.position_m
    dx, dy = point_m[0] - x, point_m[1] - y
    pan = wrap_angle_rad(math.atan2(dy, dx) - base.yaw_rad)
    ahead = max(math.hypot(dx, dy) - math.hypot(*camera.position_m[:2]), 0.05)
    return pan, math.atan2(camera.position_m[2] - point_m[2], ahead)


def _across(piece: Furniture, center: Vec3, size: tuple[float, float]) -> list[Vec3]:
    """The middle of an area, or several points along it if it is long."""
    along = 0 if size[0] > size[1] else 1
    count = max(1, math.ceil(size[along] / _SPAN_M))
    points = []
    for index in range(count):
        shift = ((index + 0.5) / count - 0.5) * size[along]
        x = center[0] + (shift if along == 0 else 0.0)
        y = center[1] + (shift if along == 1 else 0.0)
        points.append(to_map(piece, (x, y, center[2])))
    return points
