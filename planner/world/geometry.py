"""Poses and boxes in the right-handed, z-up frames of REP-103; metres and radians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

# Records that are created by the hundred thousand.

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A dataclass with slots that is not to be modified; compared and hashed by value.

    As with `dataclass(frozen=True, slots=True)`, type checkers refuse assignments to fields. The
    interpreter does not, since forbidding them makes construction five times as slow, a tenth of an
    episode's time. Use a frozen dataclass for records that are created rarely.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


Vec3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
FloatArray = NDArray[np.float64]

IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)


def rounded_m(point_m: Vec3) -> Vec3:
    """A position rounded to a tenth of a millimetre, as in results."""
    x, y, z = point_m
    return (round(float(x), 4), round(float(y), 4), round(float(z), 4))


def wrap_angle_rad(angle_rad: float) -> float:
    """The same direction in (-pi, pi]."""
    wrapped = math.remainder(angle_rad, math.tau)
    return math.pi if wrapped == -math.pi else wrapped


def in_polygon(polygon: Sequence[tuple[float, float]], x: float, y: float) -> bool:
    """Whether a point lies inside, by the even-odd rule.

    It is called many times a second, when constructing a shapely point is too slow.
    """
    inside = False
    x1, y1 = polygon[-1]
    for x2, y2 in polygon:
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
        x1, y1 = x2, y2
    return inside


def quaternion_from_yaw(yaw_rad: float) -> Quaternion:
    """A rotation about +z as (x, y, z, w)."""
    return (0.0, 0.0, math.sin(yaw_rad / 2), math.cos(yaw_rad / 2))


def quaternion_from_matrix(matrix: FloatArray) -> Quaternion:
    """The unit quaternion (x, y, z, w), w >= 0, of a 3x3 rotation matrix."""
    # Plain numbers are several times as fast as those of an array.
    m = matrix.tolist()
    trace = m[0][0] + m[1][1] + m[2][2]
    if trace > 0:
        s = 2 * math.sqrt(trace + 1)
        q = ((m[2][1] - m[1][2]) / s, (m[0][2] - m[2][0]) / s, (m[1][0] - m[0][1]) / s, s / 4)
    else:
        i = max(range(3), key=lambda axis: m[axis][axis])
        j, k = (i + 1) % 3, (i + 2) % 3
        s = 2 * math.sqrt(max(1 + m[i][i] - m[j][j] - m[k][k], 1e-12))
        parts = [0.0, 0.0, 0.0]
        parts[i] = s / 4
        parts[j] = (m[j][i] + m[i][j]) / s
        parts[k] = (m[k][i] + m[i][k]) / s
        q = (parts[0], parts[1], parts[2], (m[k][j] - m[j][k]) / s)
    sign = -1.0 if q[3] < 0 else 1.0
    return (sign * q[0], sign * q[1], sign * q[2], sign * q[3])


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation `b` followed by `a`, as the unit quaternion with w >= 0."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by + ay * bw + az * bx - ax * bz
    z = aw * bz + az * bw + ax * by - ay * bx
    w = aw * bw - ax * bx - ay * by - az * bz
    scale = math.copysign(1 / math.sqrt(x * x + y * y + z * z + w * w), w)
    return (x * scale, y * scale, z * scale, w * scale)


def matrix_from_quaternion(q: Quaternion) -> FloatArray:
    """The 3x3 rotation matrix of a unit quaternion (x, y, z, w)."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


@record
class Pose:
    """A rigid transform: position in metres, orientation as a unit quaternion (x, y, z, w)."""

    position_m: Vec3
    orientation: Quaternion = IDENTITY

    @staticmethod
    def planar(x_m: float, y_m: float, yaw_rad: float = 0.0, z_m: float = 0.0) -> Pose:
        """An upright pose."""
        return Pose((x_m, y_m, z_m), quaternion_from_yaw(yaw_rad))

    @staticmethod
    def from_matrix(position_m: FloatArray, rotation: FloatArray) -> Pose:
        """A pose from a (3,) position and a (3, 3) rotation."""
        x, y, z = (float(v) for v in position_m)
        return Pose((x, y, z), quaternion_from_matrix(rotation))

    @property
    def yaw_rad(self) -> float:
        """The heading: rotation about +z in (-pi, pi]."""
        x, y, z, w = self.orientation
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    def rotation(self) -> FloatArray:
        """The (3, 3) rotation matrix from this frame to its parent."""
        return matrix_from_quaternion(self.orientation)

    def on_ground(self) -> Pose:
        """The pose projected upright onto the ground."""
        x, y, _ = self.position_m
        return Pose.planar(x, y, self.yaw_rad)

    def apply(self, point_m: Vec3) -> Vec3:
        """Transforms a point from this frame to the parent frame."""
        # Plain numbers are several times as fast as arrays of three.
        (px, py, pz), (x, y, z, w) = self.position_m, self.orientation
        vx, vy, vz = point_m
        tx, ty, tz = 2 * (y * vz - z * vy), 2 * (z * vx - x * vz), 2 * (x * vy - y * vx)
        return (
            float(px + vx + w * tx + y * tz - z * ty),
            float(py + vy + w * ty + z * tx - x * tz),
            float(pz + vz + w * tz + x * ty - y * tx),
        )

    def compose(self, child: Pose) -> Pose:
        """The pose of `child` (given in this frame) in the parent frame."""
        turned = _product(self.orientation, child.orientation)
        return Pose(self.apply(child.position_m), turned)

    def toward(self, other: Pose, share: float) -> Pose:
        """The pose on the way to another one of the same parent, turning at a constant rate.

        Args:
            other: where the way ends.
            share: of the way, 0 to 1.
        """
        (x, y, z), (u, v, w) = self.position_m, other.position_m
        at_m = (x + share * (u - x), y + share * (v - y), z + share * (w - z))
        a, b = self.orientation, other.orientation
        cosine = sum(p * q for p, q in zip(a, b, strict=True))
        # Two quaternions of opposite sign are the same rotation: the way is the shorter one.
        sign, angle = math.copysign(1.0, cosine), math.acos(min(1.0, abs(cosine)))
        if angle < 1e-6:
            return Pose(at_m, b if share >= 0.5 else a)
        from_a = math.sin((1 - share) * angle) / math.sin(angle)
        from_b = sign * math.sin(share * angle) / math.sin(angle)
        i, j, k, r = (from_a * p + from_b * q for p, q in zip(a, b, strict=True))
        return Pose(at_m, (i, j, k, r))

    def inverse(self) -> Pose:
        """The parent frame's pose in this frame."""
        transposed = self.rotation().T
        position = -transposed @ np.asarray(self.position_m)
        return Pose.from_matrix(position, transposed)


@record
class Box:
    """An axis-aligned box in the map frame, given by its two extreme corners in metres."""

    minimum_m: Vec3
    maximum_m: Vec3

    @staticmethod
    def around(center_m: Vec3, size_m: Vec3, yaw_rad: float = 0.0) -> Box:
        """The tight axis-aligned box around an upright box turned by `yaw_rad`."""
        c, s = abs(math.cos(yaw_rad)), abs(math.sin(yaw_rad))
        hx = (size_m[0] * c + size_m[1] * s) / 2
        hy = (size_m[0] * s + size_m[1] * c) / 2
        hz = size_m[2] / 2
        x, y, z = center_m
        return Box((x - hx, y - hy, z - hz), (x + hx, y + hy, z + hz))

    @property
    def center_m(self) -> Vec3:
        """The middle of the box."""
        (a, b, c), (d, e, f) = self.minimum_m, self.maximum_m
        return ((a + d) / 2, (b + e) / 2, (c + f) / 2)

    @property
    def size_m(self) -> Vec3:
        """The full extent along x, y, z."""
        (a, b, c), (d, e, f) = self.minimum_m, self.maximum_m
        return (d - a, e - b, f - c)

    def contains(self, point_m: Vec3, margin_m: float = 0.0) -> bool:
        """Whether the point lies in the box grown by `margin_m`."""
        (a, b, c), (d, e, f), (x, y, z) = self.minimum_m, self.maximum_m, point_m
        return (
            a - margin_m <= x <= d + margin_m
            and b - margin_m <= y <= e + margin_m
            and c - margin_m <= z <= f + margin_m
        )

    def overlaps(self, other: Box, margin_m: float = 0.0) -> bool:
        """Whether the boxes overlap, or are closer than `margin_m`."""
        return all(
            self.minimum_m[i] < other.maximum_m[i] + margin_m
            and other.minimum_m[i] < self.maximum_m[i] + margin_m
            for i in range(3)
        )

    def distance_m(self, point_m: Vec3) -> float:
        """Euclidean distance from a point to the box; 0 inside."""
        (a, b, c), (d, e, f), (x, y, z) = self.minimum_m, self.maximum_m, point_m
        dx, dy, dz = max(a - x, 0.0, x - d), max(b - y, 0.0, y - e), max(c - z, 0.0, z - f)
        return math.sqrt(dx * dx + dy * dy + dz * dz)

    def horizontal_gap_m(self, other: Box) -> float:
        """Distance between the two footprints; 0 if they overlap."""
        dx = max(
            0.0, self.minimum_m[0] - other.maximum_m[0], other.minimum_m[0] - self.maximum_m[0]
        )
        dy = max(
            0.0, self.minimum_m[1] - other.maximum_m[1], other.minimum_m[1] - self.maximum_m[1]
        )
        return math.hypot(dx, dy)


# The four headings of the compass: +x of the map is east, +y north.


class Heading(Enum):
    """A quarter of the compass, in the order in which ties are decided; the value is in radians."""

    NORTH = math.pi / 2
    SOUTH = -math.pi / 2
    EAST = 0.0
    WEST = math.pi

    @property
    def yaw_rad(self) -> float:
        """About z of the map, from +x."""
        return self.value

    @property
    def right(self) -> Heading:
        """After a turn of 90 degrees to the right."""
        return heading_of(self.value - math.pi / 2)


def heading_of(yaw_rad: float) -> Heading:
    """The nearest heading of a body."""
    return _ROUND[round(yaw_rad / (math.pi / 2)) % 4]


_ROUND = (Heading.EAST, Heading.NORTH, Heading.WEST, Heading.SOUTH)
