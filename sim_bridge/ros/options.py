"""The settings of the backend `ros`: names, frames, groups, postures and limits of one robot.

One YAML file a robot (config/ros.yaml is the emulated one's; config/robots/ has others), checked
here with field and reason; `Model.check` checks it against the robot's own description.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from planner.world.agents import Body, default_bodies
from planner.world.files import FileModel, read_model
from planner.world.geometry import Pose, Vec3
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind

Seconds = Annotated[float, Field(gt=0, le=600)]
Metres = Annotated[float, Field(gt=0, le=10)]
Speed = Annotated[float, Field(gt=0, le=10)]
# An absolute name of ROS; empty where the robot has no such thing.
RosName = Annotated[str, Field(pattern=r"^(/[A-Za-z_][A-Za-z0-9_]*)+$")]
MaybeName = Annotated[str, Field(pattern=r"^((/[A-Za-z_][A-Za-z0-9_]*)+)?$")]
Frame = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_/]*$")]


class Frames(FileModel):
    """Frames of /tf, as REP-105 names them."""

    map: Frame = "map"
    odom: Frame = "odom"
    base: Frame = "base_link"
    # Where the robot's map frame lies in the house's: x, y, yaw.
    map_in_house: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def in_house(self) -> Pose:
        """The robot's map frame in the house's."""
        x, y, yaw = self.map_in_house
        return Pose.planar(x, y, yaw)


class Size(FileModel):
    """What the skills must know of its body; see `planner.world.agents.Body`."""

    radius_m: Metres
    height_m: Metres
    reach_m: Metres
    # How far from what it handles the base stands best: nearer, the arm has no room.
    stand_m: Metres
    reach_height_m: tuple[float, float]

    @model_validator(mode="after")
    def _stands_within_reach(self) -> Self:
        if not self.radius_m < self.stand_m < self.reach_m:
            raise ValueError("stand_m must be between radius_m and reach_m")
        return self


class Navigation(FileModel):
    """Nav2, or what offers the same actions."""

    navigate: RosName = "/navigate_to_pose"
    path: MaybeName = "/compute_path_to_pose"
    # nav2_msgs/BackUp: backs away from furniture, where the arm finds no way to fold.
    back_up: MaybeName = "/backup"
    speed_limit: MaybeName = "/speed_limit"
    velocity: RosName = "/cmd_vel"
    # Whether that is geometry_msgs/TwistStamped, as Nav2 sends by default from Kilted on.
    stamped: bool = False
    map: MaybeName = "/map"
    # Tolerances of its goal checker: how near is there.
    near_m: Metres = 0.25
    near_rad: Annotated[float, Field(gt=0, le=3.2)] = 0.25


class Controller(FileModel):
    """A joint_trajectory_controller: `control_msgs/FollowJointTrajectory`."""

    action: RosName
    joints: tuple[str, ...] = Field(min_length=1)
    # Greatest speed of its joints, rad/s or m/s.
    speed: Speed = 0.5


class Modes(FileModel):
    """Services (`std_srvs/Trigger`) of a driver that takes either velocities or joint goals."""

    # Asked before a goal of Nav2, and before a goal of arm, gripper or head.
    drive: RosName
    move: RosName


class Slide(FileModel):
    """A joint of the arm's first controller that moves the base along its own x, forwards positive.

    Its goal is relative to where the base stands, and the description does not have it. The base
    does so without Nav2, so what lies in its way is not looked for.
    """

    joint: str
    # At most so far, either way.
    range_m: Annotated[float, Field(gt=0, le=0.5)]
    speed: Speed = 0.05


class ArmMethod(StrEnum):
    """Who plans the arm's motions."""

    MOVEIT = "moveit"
    TRAJECTORY = "trajectory"


class Arm(FileModel):
    """The arm, with what moves with it (torso, lift)."""

    method: ArmMethod = ArmMethod.MOVEIT
    move_action: RosName = "/move_action"
    # On which MoveIt takes "stop"; empty = it is only canceled.
    event: MaybeName = "/trajectory_execution_event"
    group: str = "arm"
    # A link of the robot's description, and in its frame the direction out of the gripper, and the
    # direction along which the fingers close.
    tip: str
    approach: Literal["x", "z"] = "z"
    closing: Literal["x", "y", "z"] = "y"
    # From the tip's origin along `approach` to the middle between the fingertips.
    tool_m: Annotated[float, Field(ge=0, le=1)] = 0.0
    # What is so near to the lines between its joints is the arm itself, in pictures of depth.
    thick_m: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    controllers: tuple[Controller, ...] = Field(min_length=1)
    # The direction in the base in which the arm reaches; the base stands so that a target is there.
    side_rad: Annotated[float, Field(ge=-3.2, le=3.2)] = 0.0
    slide: Slide | None = None
    # A joint of a controller that stands for several of the description, which share its value
    # (a telescope, two fingers).
    shared: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    carry: dict[str, float]
    # The postures from which a way into furniture or over a table is tried.
    ready: dict[str, float]
    velocity_scaling: Annotated[float, Field(gt=0, le=1)] = 0.5
    plan_s: Seconds = 5.0

    @property
    def joints(self) -> tuple[str, ...]:
        """All joints, in the order of the controllers."""
        return tuple(name for each in self.controllers for name in each.joints)

    def parts(self, joint: str) -> tuple[str, ...]:
        """The joints of the description for which a joint of a controller stands."""
        return self.shared.get(joint, (joint,))

    @property
    def grip_in_tip(self) -> Pose:
        """The gripper in the link `tip`: x out of it, y along which it closes."""
        columns = np.zeros((3, 3))
        columns["xyz".index(self.approach), 0] = columns["xyz".index(self.closing), 1] = 1.0
        columns[:, 2] = np.cross(columns[:, 0], columns[:, 1])
        return Pose.from_matrix(columns[:, 0] * self.tool_m, columns)

    @model_validator(mode="after")
    def _postures_are_complete(self) -> Self:
        if self.approach == self.closing:
            raise ValueError("approach and closing must be different axes")
        for what in ("carry", "ready"):
            posture: dict[str, float] = getattr(self, what)
            lacks = [name for name in self.joints if name not in posture]
            more = [name for name in posture if name not in self.joints]
            if lacks or more:
                problem = f"lacks {', '.join(lacks)}" if lacks else f"has also {', '.join(more)}"
                raise ValueError(f"{what} {problem}; it names each joint of the controllers")
        return self


class GripperKind(StrEnum):
    """The interface of the gripper's controller."""

    GRIPPER_COMMAND = "gripper_command"
    PARALLEL = "parallel_gripper_command"
    TRAJECTORY = "trajectory"


class Gripper(FileModel):
    """A gripper with one degree of freedom."""

    kind: GripperKind = GripperKind.GRIPPER_COMMAND
    action: RosName
    # What is commanded to open and to close it: some controllers take their joint's position, some
    # the gap between the fingers.
    open: float
    closed: float
    # The joint of /joint_states that tells how far it is open, and its positions then.
    joint: str
    joint_open: float
    joint_closed: float
    # Joints that a goal of the kind `trajectory` has to name as well; they get the same position.
    others: tuple[str, ...] = ()
    # Distance of the fingers where it is open; 0 where it is closed, in proportion in between.
    width_m: Metres
    # Fingers closer than this have caught nothing.
    empty_m: Annotated[float, Field(gt=0, le=0.1)] = 0.006
    effort: Annotated[float, Field(ge=0, le=1000)] = 20.0

    @model_validator(mode="after")
    def _opens(self) -> Self:
        for what in ("", "joint_"):
            if abs(getattr(self, f"{what}open") - getattr(self, f"{what}closed")) < 1e-6:
                raise ValueError(f"{what}open and {what}closed must be different positions")
        if self.others and self.kind is not GripperKind.TRAJECTORY:
            raise ValueError(f"others are only for the kind {GripperKind.TRAJECTORY}")
        return self

    def opening_m(self, position: float) -> float:
        """The distance of the fingers at a position of the joint."""
        share = (position - self.joint_closed) / (self.joint_open - self.joint_closed)
        return self.width_m * min(1.0, max(0.0, share))


class Head(FileModel):
    """What turns the camera; `camera` is a link of the description with optical axes."""

    action: RosName
    joints: tuple[str, ...] = Field(min_length=1, max_length=2)
    camera: str
    speed: Speed = 1.0


class Camera(FileModel):
    """An RGB-D camera, by the names of its topics (image_transport's `raw` or `compressed`)."""

    image: RosName
    depth: RosName
    info: RosName
    transport: Literal["raw", "compressed"] = "raw"
    depth_transport: Literal["raw", "compressed", "compressedDepth"] = "raw"


class Battery(FileModel):
    """`sensor_msgs/BatteryState`."""

    topic: RosName = "/battery_state"
    # Some drivers report 0 to 100 instead of 0 to 1.
    percent: bool = False


class Grasping(FileModel):
    """How things are taken."""

    # A service of others, `moveit_msgs/GraspPlanning`, instead of our own planner.
    service: MaybeName = ""
    tries: Annotated[int, Field(ge=1, le=10)] = 3
    before_m: Metres = 0.12
    lift_m: Metres = 0.1


class RosOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    name: str
    agent_kind: AgentKind = AgentKind.ROBOT
    size: Size
    frames: Frames = Frames()
    navigation: Navigation = Navigation()
    arm: Arm
    gripper: Gripper
    head: Head | None = None
    modes: Modes | None = None
    camera: Camera
    odometry: RosName = "/odom"
    joint_states: RosName = "/joint_states"
    description: RosName = "/robot_description"
    battery: Battery | None = Battery()
    grasping: Grasping = Grasping()
    wait_s: Seconds = 20.0
    # A server that does not answer a goal in this time, or is silent during one, is dead.
    answer_s: Seconds = 5.0
    silent_s: Seconds = 5.0

    @property
    def body(self) -> Body:
        """The robot's dimensions, as the skills know bodies."""
        usual = default_bodies()[self.agent_kind]
        size = {name: getattr(self.size, name) for name in Size.model_fields if name != "stand_m"}
        hand: Vec3 = (self.size.radius_m + 0.1, 0.0, self.size.height_m / 2)
        return usual.model_copy(update={**size, "hand_m": hand})

    @property
    def controllers(self) -> tuple[Controller, ...]:
        """All controllers of joints, the head's last."""
        head = self.head
        if head is None:
            return self.arm.controllers
        return (
            *self.arm.controllers,
            Controller(action=head.action, joints=head.joints, speed=head.speed),
        )


@lru_cache(maxsize=1)
def default_ros() -> RosOptions:
    """The shipped settings: the emulated robot's."""
    return read_model(config_dir() / "ros.yaml", RosOptions)


# The name that all nodes above give the camera that the memory uses.
CAMERA = "hand"
