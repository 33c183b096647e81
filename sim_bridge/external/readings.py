"""What was heard from a robot driven by other software, and the settings for hearing it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, Protocol

from pydantic import Field

from planner.world.files import FileModel, read_model
from planner.world.geometry import Pose
from planner.world.observation import CameraNews, RobotPicture
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind
from sim_bridge.one_robot import FrameHistory, Outcome, PoseHistory

# Once odometry is so far past a picture, all frames of the picture's time have come that will.
SETTLED_S = 0.1
# A frame of /tf that is published rarely, such as a correction of the map, holds for so long.
HOLD_S = 1.0


@dataclass(frozen=True, slots=True)
class RobotReadings:
    """The newest of everything, and the past of what moves.

    Attributes:
        at_s: receipt of the last odometry, on the listener's clock; -inf = never.
        stamp_s: its stamp, on the robot's clock.
        shift_s: what is added to a stamp of the robot's clock to get a time of the listener's.
        odometry_frame: the frame in which the odometry tells of the body.
        linear_m_s: of the body along its own x; `angular_rad_s` about its z.
        joints: positions by name.
        bodies: the body's poses in the odometry frame.
        frames: those of /tf and /tf_static.
        cameras: by name.
        wrong: the last unusable message, and why; empty for none.
    """

    at_s: float = -math.inf
    stamp_s: float = -math.inf
    shift_s: float = 0.0
    odometry_frame: str = ""
    linear_m_s: float = 0.0
    angular_rad_s: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    bodies: PoseHistory = field(default_factory=PoseHistory)
    frames: FrameHistory = field(default_factory=FrameHistory)
    cameras: Mapping[str, CameraNews] = field(default_factory=dict)
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class FrameNames:
    """A robot's frames of /tf.

    Attributes:
        body: as in its odometry; `hand` and the cameras hang on it.
        odometry_in_map: pose of the odometry frame, if `map` is empty or not connected.
    """

    map: str
    body: str
    hand: str
    odometry_in_map: Pose


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a robot and its parts were at one time.

    Attributes:
        stamp_s: on the robot's clock.
        base: the body upright on the ground, in the map; `odometry` in the odometry frame.
        hand: the hand's frame in `base`; None if /tf does not tell of it.
        optical: the optical frame of each camera in `base`, where /tf tells of it.
    """

    stamp_s: float
    base: Pose
    odometry: Pose
    hand: Pose | None
    optical: Mapping[str, Pose]


def moment_at(readings: RobotReadings, names: FrameNames, at_s: float | None) -> Moment | None:
    """Where a robot was.

    Args:
        readings: what was heard.
        names: of its frames.
        at_s: a time of the robot's clock; None = that of the newest odometry.

    Returns:
        None for a time of which odometry or the map's frame do not tell, or not yet.
    """
    body = readings.bodies.at(at_s)
    if body is None:
        return None
    settled = at_s is None or readings.stamp_s >= at_s + SETTLED_S
    hold_s = HOLD_S if settled else 0.0
    frames, in_map = readings.frames, names.odometry_in_map
    if names.map and frames.connects(names.map, readings.odometry_frame):
        found = frames.pose_in(names.map, readings.odometry_frame, at_s, hold_s)
        if found is None:
            return None
        in_map = found.on_ground()
    odometry = body.on_ground()
    upright = odometry.inverse().compose(body)

    def on_base(frame: str) -> Pose | None:
        on_body = frames.pose_in(names.body, frame, at_s, hold_s)
        return None if on_body is None else upright.compose(on_body)

    optical = {
        camera: pose
        for camera, news in readings.cameras.items()
        if news.pictures and (pose := on_base(news.pictures[-1].frame)) is not None
    }
    return Moment(
        stamp_s=readings.stamp_s if at_s is None else at_s,
        base=in_map.compose(odometry),
        odometry=odometry,
        hand=on_base(names.hand),
        optical=optical,
    )


def posed_picture(
    readings: RobotReadings, names: FrameNames, camera: str, after_s: float
) -> tuple[RobotPicture, Moment] | None:
    """The newest picture of a camera whose frames at its time are known.

    Args:
        readings: what was heard.
        names: of the robot's frames.
        camera: its name.
        after_s: only pictures taken later, on the robot's clock.
    """
    news = readings.cameras.get(camera, CameraNews())
    for picture in reversed(news.pictures):
        if picture.stamp_s <= after_s:
            return None
        moment = moment_at(readings, names, picture.stamp_s)
        if moment is not None and camera in moment.optical:
            return picture, moment
    return None


class RobotListener(Protocol):
    """Receives a robot's messages and calls its services."""

    def now_s(self) -> float:
        """The time of day when it began, and a steady clock from then on."""

    def readings(self) -> RobotReadings:
        """The newest messages; never waits."""

    def trigger(self, name: str, within_s: float) -> Outcome:
        """Calls a Trigger service of the robot and waits for its answer."""

    def close(self) -> None:
        """Stops receiving."""


# The settings of the backend `external` (config/external.yaml).

Seconds = Annotated[float, Field(gt=0, le=600)]


class ExternalOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    namespace: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_/]*$")] = "spot"
    agent_kind: AgentKind = AgentKind.ROBOT
    cameras: tuple[Literal["hand"], ...] = ("hand",)
    map_frame: str = ""
    odom_in_map: tuple[float, float, float] = (0.0, 0.0, 0.0)
    transport: Literal["raw", "compressed"] = "raw"
    silent_after_s: Annotated[float, Field(ge=0.2, le=60)] = 0.7
    picture_age_s: Annotated[float, Field(gt=0, le=4)] = 2.0
    triggers: bool = True
    wait_s: Seconds = 10.0
    trigger_s: Seconds = 20.0

    @property
    def frames(self) -> FrameNames:
        """The robot's frames, which have its name as prefix."""
        return FrameNames(
            map=self.map_frame,
            body=f"{self.namespace}/body",
            hand=f"{self.namespace}/hand",
            odometry_in_map=Pose.planar(*self.odom_in_map),
        )


@lru_cache(maxsize=1)
def default_external() -> ExternalOptions:
    """The shipped settings."""
    return read_model(config_dir() / "external.yaml", ExternalOptions)
