"""Where the emulated robot has its cameras, and the kinematics of the six joints of its arm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from planner.world.agents import CameraMount
from planner.world.geometry import FloatArray, Pose, Vec3
from sim_bridge.embedded.sensing import camera_on_base, optical_rotation

if TYPE_CHECKING:
    from sim_bridge.embedded.entities import Agent


HAND, FRONT_LEFT = "hand", "body"


class Kind(Enum):
    """The pixels of a source; body cameras are grey unless colour is requested."""

    COLOR = auto()
    COLOR_OR_GREY = auto()
    GREY = auto()
    DEPTH = auto()


@dataclass(frozen=True, slots=True)
class Source:
    """An image source: its camera, its pixels, and the frame of its images."""

    camera: str
    kind: Kind
    frame: str


# Relative to the front left camera: position in `base_link`, direction (left positive).
_PLACES: dict[str, tuple[Vec3, float]] = {
    "frontright": ((0.26, -0.05, 0.6), -0.2),
    "left": ((-0.1, 0.11, 0.6), math.pi / 2),
    "right": ((-0.1, -0.11, 0.6), -math.pi / 2),
    "back": ((-0.4, 0.0, 0.6), math.pi),
}
# How far each is turned clockwise about the direction that it looks in.
_ROLLED_RAD = {
    FRONT_LEFT: math.radians(78.0),
    "frontright": math.radians(102.0),
    "right": math.radians(180.0),
}
_BODY = {"frontleft": FRONT_LEFT, **{name: name for name in _PLACES}}
_IN_COLOR, _IN_DEPTH = "hand_color_image_sensor", "hand_depth_sensor"
# Frame names of the SDK, with the camera at each.
SENSORS: dict[str, str] = {
    _IN_COLOR: HAND,
    _IN_DEPTH: HAND,
    **{f"{name}_fisheye": camera for name, camera in _BODY.items()},
    **_BODY,
}
SOURCES: dict[str, Source] = {
    "hand_color_image": Source(HAND, Kind.COLOR, _IN_COLOR),
    "hand_depth_in_hand_color_frame": Source(HAND, Kind.DEPTH, _IN_COLOR),
    "hand_image": Source(HAND, Kind.GREY, _IN_DEPTH),
    "hand_depth": Source(HAND, Kind.DEPTH, _IN_DEPTH),
    "hand_color_in_hand_depth_frame": Source(HAND, Kind.COLOR, _IN_DEPTH),
}
for _name, _camera in _BODY.items():
    _visual = f"{_name}_fisheye"
    SOURCES[f"{_visual}_image"] = Source(_camera, Kind.COLOR_OR_GREY, _visual)
    SOURCES[f"{_name}_depth"] = Source(_camera, Kind.DEPTH, _name)
    SOURCES[f"{_name}_depth_in_visual_frame"] = Source(_camera, Kind.DEPTH, _visual)


def mount_of(agent: Agent, camera: str) -> CameraMount:
    """A camera's intrinsics and its mount on the body.

    Raises:
        KeyError: for an unknown camera.
    """
    if camera in _PLACES:
        position, _ = _PLACES[camera]
        return agent.body.cameras["body"].model_copy(update={"position_m": position})
    return agent.body.cameras[camera]  # type: ignore[index]


def on_base(agent: Agent, camera: str) -> Pose:
    """A camera's optical frame in `base_link`."""
    mount = mount_of(agent, camera)
    if camera in _PLACES:
        rotation = optical_rotation(_PLACES[camera][1], mount.tilt_rad)
        upright = Pose.from_matrix(np.array(mount.position_m), rotation)
    else:
        upright = camera_on_base(agent, camera, mount)
    return upright.compose(Pose.planar(0.0, 0.0, _ROLLED_RAD.get(camera, 0.0)))


# Forward and inverse kinematics of the arm's six joints.

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
