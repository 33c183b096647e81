"""What an agent senses at one time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose, Vec3, record

RgbImage = NDArray[np.uint8]
DepthImage = NDArray[np.float32]
InstanceImage = NDArray[np.int32]

_ORIGIN = Pose((0.0, 0.0, 0.0))


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """An ideal pinhole camera, pixels; the optical frame looks along +z, x right, y down."""

    width_px: int
    height_px: int
    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float


@dataclass(frozen=True, slots=True)
class CameraFrame:
    """One exposure.

    Attributes:
        rgb: (h, w, 3) uint8.
        depth_m: (h, w) float32, metres along the optical axis; 0 = not measured.
        instances: (h, w) int32 ground-truth instance ids, 0 for structure and
            nothing; None outside simulators.
        intrinsics: of the camera.
        pose: the optical frame in `map` according to the agent.
    """

    rgb: RgbImage
    depth_m: DepthImage
    instances: InstanceImage | None
    intrinsics: Intrinsics
    pose: Pose


class Grip(NamedTuple):
    """How far a gripper is open, 0 closed to 1 open, and whether it feels something in it."""

    opening: float = 1.0
    holding: bool = False


@record
class Observation:
    """Everything one agent senses at `stamp_s` (seconds of the backend's clock).

    Attributes:
        agent: namespace of the agent, `agent_0` and so on.
        base: `base_link` in `map` as localised; `odometry` in the agent's odom frame.
        hand: the hand's frame in `base_link`.
        joints: position of each joint of the body, radians or metres.
        gripper_opening: 0 closed to 1 open.
        holding: whether something is in the hand.
        cameras: one frame for each requested camera; a dropped frame is absent.
        optical: the optical frame of each camera in `base_link`, requested or not.
        sightings: what the agent sees in a world without images; None = use the images.
    """

    stamp_s: float
    agent: str
    base: Pose
    odometry: Pose
    linear_m_s: float
    angular_rad_s: float
    hand: Pose
    joints: Mapping[str, float]
    gripper_opening: float
    holding: bool
    cameras: Mapping[str, CameraFrame]
    optical: Mapping[str, Pose] = field(default_factory=dict)
    sightings: Sequence[Sighting] | None = None

    @classmethod
    def at_rest(
        cls,
        stamp_s: float,
        frame: CameraFrame | None = None,
        *,
        agent: str = "agent_0",
        base: Pose = _ORIGIN,
        hand: Pose = _ORIGIN,
    ) -> Observation:
        """An agent standing still with its hand open and empty.

        Args:
            stamp_s: on the backend's clock.
            frame: from the camera named hand; None for no image.
            agent: its namespace.
            base: in `map`, and also in the odometry's frame.
            hand: in `base_link`.
        """
        cameras = {} if frame is None else {"hand": frame}
        return cls(stamp_s, agent, base, base, 0.0, 0.0, hand, {}, 1.0, False, cameras)


@record
class Sighting:
    """One entity in one camera's view, by ground truth.

    Attributes:
        name: the entity's true name.
        fraction: of the view's pixels that show it, 0 to 1.
        distance_m: depth along the optical axis of its visible part.
        pixel: (u, v) of the middle of its visible part, or of its projected centre.
        position_m: centre of its box in `map`.
    """

    name: str
    fraction: float
    distance_m: float
    pixel: tuple[float, float]
    position_m: Vec3


# A picture of a robot of others as it came: taken at a time of its own, decoded when needed.


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """A picture and its registered depth as an ideal pinhole sees them; units of `CameraFrame`."""

    rgb: RgbImage
    depth_m: DepthImage
    intrinsics: Intrinsics


class RobotPicture:
    """A colour picture and its registered depth.

    Attributes:
        stamp_s: when it was taken, on the robot's clock.
        frame: the optical frame of both.
    """

    __slots__ = ("_pixels", "_read", "frame", "stamp_s")

    def __init__(self, stamp_s: float, frame: str, read: Callable[[], Pixels]) -> None:
        """`read` decodes it, or raises PlannerError."""
        self.stamp_s, self.frame, self._read = stamp_s, frame, read
        self._pixels: Pixels | None = None

    def pixels(self) -> Pixels:
        """What it shows; decoded the first time.

        Raises:
            PlannerError: if it cannot be read.
        """
        if self._pixels is None:
            self._pixels = self._read()
        return self._pixels


@dataclass(frozen=True, slots=True)
class CameraNews:
    """What came from one camera.

    Attributes:
        pictures: the last ones that can be used, oldest first.
        good_s: receipt of the newest one that can be used, on the listener's clock; -inf = never.
        heard_s: receipt of the newest one, usable or not.
        problem: why the newest one cannot be used; empty if it can.
    """

    pictures: tuple[RobotPicture, ...] = ()
    good_s: float = -math.inf
    heard_s: float = -math.inf
    problem: str = ""
