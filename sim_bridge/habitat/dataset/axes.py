"""Our axes and Habitat's: z is up in ours, y in Habitat's.

A point (x, y, z) of `map` is (x, z, -y) in Habitat; a rotation about our z is the same rotation
about Habitat's y. The same applies to the frame of every body and mesh.
"""

from __future__ import annotations

import math

from planner.world.geometry import FloatArray, Vec3

Wxyz = tuple[float, float, float, float]


def to_habitat(point_m: Vec3) -> Vec3:
    """A point or direction of ours in Habitat's axes."""
    x, y, z = point_m
    return (x, z, -y)


def points_to_habitat(points_m: FloatArray) -> FloatArray:
    """(n, 3) points of ours in Habitat's axes."""
    turned: FloatArray = points_m[:, [0, 2, 1]] * (1.0, 1.0, -1.0)
    return turned


def yaw_to_habitat(yaw_rad: float) -> Wxyz:
    """A rotation about our z as Habitat's quaternion (w, x, y, z)."""
    return (math.cos(yaw_rad / 2), 0.0, math.sin(yaw_rad / 2), 0.0)
