"""The newest messages of a robot driven by other software, as plain values without ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from planner.world.geometry import Pose
from planner.world.observation import DepthImage, Intrinsics, RgbImage
from sim_bridge.control import Outcome

_HERE = Pose((0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class Exposure:
    """A colour picture and its registered depth; `frame` is the optical frame of both."""

    rgb: RgbImage
    depth_m: DepthImage
    intrinsics: Intrinsics
    frame: str


@dataclass(frozen=True, slots=True)
class RobotReadings:
    """The newest of everything.

    Attributes:
        at_s: receipt of the last odometry, on the listener's steady clock; -inf = never.
        body: the body's pose in the odometry frame.
        linear_m_s: of the body along its own x; `angular_rad_s` about its z.
        joints: positions by name.
        frames: pose of each frame of /tf in its parent.
        pictures: by camera.
        wrong: the last unusable message, and why; empty for none.
    """

    at_s: float = -math.inf
    body: Pose = _HERE
    linear_m_s: float = 0.0
    angular_rad_s: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    frames: Mapping[str, tuple[str, Pose]] = field(default_factory=dict)
    pictures: Mapping[str, Exposure] = field(default_factory=dict)
    wrong: str = ""

    def pose_in(self, frame: str, child: str) -> Pose | None:
        """A frame of /tf in another; None if they are not connected."""
        way, other = self._to_roots(frame), self._to_roots(child)
        shared = next((name for name in other if name in way), None)
        return None if shared is None else way[shared].inverse().compose(other[shared])

    def _to_roots(self, frame: str) -> dict[str, Pose]:
        """The pose of a frame in each of its ancestors, itself first."""
        found, pose = {frame: _HERE}, _HERE
        while frame in self.frames:
            parent, in_parent = self.frames[frame]
            if parent in found:
                break
            pose = in_parent.compose(pose)
            found[parent], frame = pose, parent
        return found


class RobotListener(Protocol):
    """Receives a robot's messages and calls its services."""

    def now_s(self) -> float:
        """A steady clock."""

    def readings(self) -> RobotReadings:
        """The newest messages; never waits."""

    def trigger(self, name: str, within_s: float) -> Outcome:
        """Calls a Trigger service of the robot and waits for its answer."""

    def close(self) -> None:
        """Stops receiving."""
