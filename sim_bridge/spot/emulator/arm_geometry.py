"""Forward and inverse kinematics of the arm's six joints."""

from __future__ import annotations

import math

import numpy as np

from planner.world.geometry import FloatArray, Pose, Vec3

# Names and order as in the SDK's ArmJointPosition.
JOINTS = ("sh0", "sh1", "el0", "el1", "wr0", "wr1")
# The arm's root in the body frame, and its links, in metres; from the arm's published drawing.
ROOT_M: Vec3 = (0.292, 0.0, 0.188)
UPPER_M, FOREARM_M, WRIST_TO_HAND_M = 0.3385, 0.4033, 0.19557
# Joint limits from the SDK's documentation.
_LOWEST = np.array([-2.618, -3.142, 0.0, -2.793, -1.833, -2.880])
_HIGHEST = np.array([3.142, 0.524, 3.142, 2.793, 1.833, 2.880])
_STARTS = (
    (0.0, -0.9, 1.8, 0.0, -0.9, 0.0),
    (0.0, -1.6, 2.6, 0.0, 0.5, 0.0),
    (0.5, -1.2, 2.0, 1.2, 0.5, -1.2),
    (-0.5, -1.2, 2.0, -1.2, 0.5, 1.2),
)
_MOST_STEPS, _DAMPING, _STEP_RAD, _CLOSE = 80, 1e-3, 1e-5, 2e-3
_STEPS = np.eye(6) * _STEP_RAD


def hand_in_body(joints_rad: tuple[float, ...]) -> Pose:
    """The hand in the body frame for `JOINTS`."""
    sh0, sh1, el0, el1, wr0, wr1 = joints_rad
    shoulder = Pose(ROOT_M).compose(_about_z(sh0)).compose(_about_y(sh1))
    elbow = shoulder.compose(Pose((UPPER_M, 0.0, 0.0))).compose(_about_y(el0))
    forearm = elbow.compose(_about_x(el1)).compose(Pose((FOREARM_M, 0.0, 0.0)))
    wrist = forearm.compose(_about_y(wr0)).compose(_about_x(wr1))
    return wrist.compose(Pose((WRIST_TO_HAND_M, 0.0, 0.0)))


def pitch_rad(pose: Pose) -> float:
    """The downward pitch of a pose's x-axis."""
    x, y, z = Pose((0.0, 0.0, 0.0), pose.orientation).apply((1.0, 0.0, 0.0))
    return math.atan2(-z, math.hypot(x, y))


def _about_x(angle_rad: float) -> Pose:
    return Pose((0.0, 0.0, 0.0), (math.sin(angle_rad / 2), 0.0, 0.0, math.cos(angle_rad / 2)))


def _about_y(angle_rad: float) -> Pose:
    return Pose((0.0, 0.0, 0.0), (0.0, math.sin(angle_rad / 2), 0.0, math.cos(angle_rad / 2)))


def _about_z(angle_rad: float) -> Pose:
    return Pose((0.0, 0.0, 0.0), (0.0, 0.0, math.sin(angle_rad / 2), math.cos(angle_rad / 2)))


def joints_for(hand: Pose) -> tuple[float, ...] | None:
    """Joints within their limits that bring the hand to a pose in the body frame, or None.

    Found by damped least squares from a few starts; of two solutions either may be returned.
    """
    for start in _STARTS:
        joints = np.array(start)
        for _ in range(_MOST_STEPS):
            error = _error(hand, joints)
            if float(np.linalg.norm(error)) < _CLOSE:
                return tuple(float(angle) for angle in joints)
            slope = np.stack(
                [(_error(hand, joints + step) - error) / _STEP_RAD for step in _STEPS], axis=1
            )
            damped = slope.T @ slope + _DAMPING * np.eye(6)
            joints = np.clip(joints - np.linalg.solve(damped, slope.T @ error), _LOWEST, _HIGHEST)
    return None


def _error(hand: Pose, joints: FloatArray) -> FloatArray:
    """The hand's error for these joints: metres, then radians about each axis."""
    off = hand.inverse().compose(hand_in_body(tuple(joints.tolist())))
    x, y, z, w = off.orientation
    sign = 1.0 if w >= 0 else -1.0
    return np.array([*off.position_m, 2 * sign * x, 2 * sign * y, 2 * sign * z])
