"""The emulated robot's cameras, and the SDK's image sources.

The hand's and the front left camera are those of the agent's body (config/agents.yaml); the other
four of the body have the intrinsics and tilt of the front left one. All are pinholes. Three of them
are mounted rolled, as the SDK's program that shows their pictures undoes it (`get_image.py`,
`ROTATION_ANGLE`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from planner.world.agents import CameraMount
from planner.world.geometry import Pose, Vec3
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
