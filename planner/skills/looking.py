"""Which way to point the camera to see a piece of furniture or a room."""

from __future__ import annotations

import math

from planner.skills.ground import to_map
from planner.skills.spots import opened_center
from planner.world.agents import CameraMount
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import Furniture

View = tuple[float, float]

# All around, with the floor from near the feet to across the room in the picture.
AROUND_RAD: tuple[View, ...] = (
    (0.0, 0.55),
    (1.25, 0.55),
    (2.5, 0.55),
    (-2.5, 0.55),
    (-1.25, 0.55),
)
# One view shows about this much of a surface from where an agent stands.
_SPAN_M = 0.9
_ALIKE_RAD = 0.35
_MOST_VIEWS = 8


def furniture_views(
    piece: Furniture, base: Pose, camera: CameraMount, openness: float
) -> tuple[View, ...]:
    """Pan and tilt (down positive) that show what lies on and, where open, in the furniture."""
    points = [point for s in piece.surfaces for point in _across(piece, s.center, s.size)]
    for hollow in piece.interiors:
        if hollow.joint is None or openness > 0:
            center = opened_center(piece, hollow, openness)
            points += _across(piece, center, (hollow.size[0], hollow.size[1]))
    views: list[View] = []
    for point in points or [piece.box.center_m]:
        view = view_of(point, base, camera)
        if all(math.dist(view, other) > _ALIKE_RAD for other in views):
            views.append(view)
    # From one side to the other, so that the camera need not swing to and fro.
    return tuple(sorted(views[:_MOST_VIEWS]))


def view_of(point_m: Vec3, base: Pose, camera: CameraMount) -> View:
    """Pan and tilt that bring a point of the map to the middle of the picture."""
    x, y, _ = base.position_m
    dx, dy = point_m[0] - x, point_m[1] - y
    pan = wrap_angle_rad(math.atan2(dy, dx) - base.yaw_rad)
    ahead = max(math.hypot(dx, dy) - math.hypot(*camera.position_m[:2]), 0.05)
    return pan, math.atan2(camera.position_m[2] - point_m[2], ahead)


def _across(piece: Furniture, center: Vec3, size: tuple[float, float]) -> list[Vec3]:
    """The middle of an area, or several points along it where it is long."""
    along = 0 if size[0] > size[1] else 1
    count = max(1, math.ceil(size[along] / _SPAN_M))
    points = []
    for index in range(count):
        shift = ((index + 0.5) / count - 0.5) * size[along]
        x = center[0] + (shift if along == 0 else 0.0)
        y = center[1] + (shift if along == 1 else 0.0)
        points.append(to_map(piece, (x, y, center[2])))
    return points
