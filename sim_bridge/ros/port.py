"""What the backend `ros` sees of its robot: goals, readings, and what result codes mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose
from planner.world.primitive import PrimitiveCode
from sim_bridge.external.readings import RobotReadings
from sim_bridge.ros.grasps import Grasp, Standing
from sim_bridge.ros.options import Controller


class State(StrEnum):
    """How a goal stands."""

    SENT = "sent"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"
    REJECTED = "rejected"
    # No server, no answer, or none any more.
    DEAD = "dead"


class Interface(StrEnum):
    """What a server offers."""

    NAVIGATE = "nav2_msgs/action/NavigateToPose"
    PATH = "nav2_msgs/action/ComputePathToPose"
    BACK_UP = "nav2_msgs/action/BackUp"
    MOVEIT = "moveit_msgs/action/MoveGroup"
    TRAJECTORY = "control_msgs/action/FollowJointTrajectory"
    GRIPPER = "control_msgs/action/GripperCommand or ParallelGripperCommand"
    GRASPS = "moveit_msgs/srv/GraspPlanning"


RUNNING = frozenset({State.SENT, State.ACTIVE})


@dataclass(slots=True)
class Errand:
    """A goal that a server of the robot got; changed by the thread that hears its answers.

    Attributes:
        server: name of the action or service, and `interface` its kind.
        code, text: the result's own error code and words, 0 and empty before it.
        left_m: distance left of a navigation; NaN = unknown.
        heard_s: when something was last heard of it, on the port's clock.
        recalled: we have canceled it.
        way_m: of a planned way, its points in the robot's map.
        grasps: of a service that plans grasps.
    """

    server: str
    interface: Interface
    heard_s: float
    state: State = State.SENT
    code: int = 0
    text: str = ""
    left_m: float = math.nan
    recalled: bool = False
    way_m: tuple[tuple[float, float], ...] = ()
    grasps: tuple[Grasp, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.state in RUNNING


@dataclass(frozen=True, slots=True)
class FloorMap:
    """`nav_msgs/OccupancyGrid`: (rows, columns) int8, -1 unknown, 0 free to 100 occupied."""

    cells: NDArray[np.int8]
    cell_m: float
    # The pose of cell (0, 0)'s corner in the robot's map frame.
    origin: Pose


@dataclass(frozen=True, slots=True)
class RobotState:
    """What the robot says of itself besides its motion and its pictures.

    Attributes:
        battery: 0 to 1; None = unknown.
        map: the newest floor map; None = none.
        servers: whether each action server that the settings name is there, by name.
        wrong: the last unusable message, and why; empty for none.
        description: its URDF; empty before it came.
    """

    battery: float | None = None
    map: FloorMap | None = None
    servers: Mapping[str, bool] = field(default_factory=dict)
    wrong: str = ""
    description: str = ""

    @property
    def missing(self) -> list[str]:
        """The servers that are not there."""
        return [name for name, there in self.servers.items() if not there]


# Positions of joints, and when they are due, seconds from the start.
Waypoint = tuple[Mapping[str, float], float]


class RobotPort(Protocol):
    """The robot's interfaces. No call waits, but `open` and `close`."""

    def open(self) -> str:
        """Waits until the robot is heard; returns its description (URDF).

        Raises:
            PlannerError: naming the topic or frame that is missing.
        """

    def now_s(self) -> float:
        """The time of day when it began, and a steady clock from then on."""

    def readings(self) -> RobotReadings:
        """What was heard of its motion and its pictures."""

    def state(self) -> RobotState:
        """What else was heard."""

    def alive(self) -> None:
        """Tells the watchdog that the caller is alive."""

    def navigate(self, goal: Pose) -> Errand:
        """Sends Nav2 to a pose of the robot's map."""

    def plan_way(self, goal: Pose) -> Errand:
        """Asks Nav2 for a way to a pose of the robot's map."""

    def back_up(self, distance_m: float, speed_m_s: float) -> Errand:
        """Has Nav2 drive straight backwards."""

    def follow(self, controller: Controller, way: Sequence[Waypoint]) -> Errand:
        """Has a controller of joints move through positions."""

    def reach(self, tool: Pose, turn_rad: float) -> Errand:
        """Has MoveIt bring the gripper to a pose in the base, turned by at most so much."""

    def pose_arm(self, joints: Mapping[str, float]) -> Errand:
        """Has MoveIt bring the arm into a posture."""

    def grip(self, position: float) -> Errand:
        """Moves the gripper's joint."""

    def plan_grasps(self, thing: Standing) -> Errand:
        """Asks the service `grasping.service` for grasps of what stands somewhere."""

    def limit(self, speed_m_s: float, hand_m_s: float) -> None:
        """Tells Nav2 the greatest speed of the base, and MoveIt that of the gripper."""

    def recall(self) -> None:
        """Cancels all goals and commands zero velocity until the base stands."""

    def leave(self) -> None:
        """Stops listening without a word to the robot, for who has sent it nothing."""

    def close(self) -> None:
        """Recalls everything and stops listening; safe to call twice."""


# What the result codes of Nav2, MoveIt and ros2_control mean for a primitive.
#
# The numbers are those of nav2_msgs, moveit_msgs and control_msgs; each becomes one code of ours
# and one sentence, so that a planner learns the same from every robot.

_Meaning = tuple[PrimitiveCode, str]

_UNREACHABLE, _BLOCKED = PrimitiveCode.UNREACHABLE, PrimitiveCode.BLOCKED
_FAULT, _TOO_FAR = PrimitiveCode.BACKEND_FAULT, PrimitiveCode.TOO_FAR

# NavigateToPose hands on the codes of its planner (200s) and controller (100s).
_NAVIGATION: dict[int, _Meaning] = {
    9001: (_FAULT, "its behaviour tree could not be loaded"),
    9002: (_FAULT, "a transform is missing or too old"),
    9003: (_BLOCKED, "it took too long"),
    9000: (_BLOCKED, "it gave up"),
    101: (_FAULT, "it does not know its controller"),
    102: (_FAULT, "a transform is missing or too old"),
    103: (_UNREACHABLE, "its path is not valid"),
    104: (_BLOCKED, "something stands in the way"),
    105: (_BLOCKED, "the robot makes no progress; something stands in the way"),
    106: (_BLOCKED, "no motion is free of collisions; something stands in the way"),
    107: (_FAULT, "its controller took too long"),
    108: (_FAULT, "its controller took too long"),
    710: (_BLOCKED, "it gave up backing up"),
    711: (_BLOCKED, "backing up took too long"),
    712: (_FAULT, "a transform is missing or too old"),
    713: (_FAULT, "it does not accept the distance"),
    714: (_BLOCKED, "something stands behind the robot"),
    200: (_UNREACHABLE, "it found no way"),
    201: (_FAULT, "it does not know its planner"),
    202: (_FAULT, "a transform is missing or too old"),
    203: (_UNREACHABLE, "the robot is outside of its map"),
    204: (_UNREACHABLE, "the place to stand is outside of its map"),
    205: (_BLOCKED, "the robot stands in an obstacle of its map"),
    206: (_UNREACHABLE, "the place to stand is occupied in its map"),
    207: (_UNREACHABLE, "it found no way in time"),
    208: (_UNREACHABLE, "there is no way to the place to stand"),
}
_MOVEIT: dict[int, _Meaning] = {
    -1: (_TOO_FAR, "it found no motion to there"),
    -2: (_TOO_FAR, "it found no valid motion to there"),
    -3: (_BLOCKED, "something came into the way of the arm"),
    -4: (_BLOCKED, "the arm did not follow its motion"),
    -5: (_FAULT, "it gets no data from its sensors"),
    -6: (_TOO_FAR, "it found no motion to there in time"),
    -7: (_FAULT, "another client took the arm over"),
    -10: (_BLOCKED, "the arm is in collision where it is"),
    -11: (_BLOCKED, "the arm's present posture violates a constraint"),
    -12: (_TOO_FAR, "the arm would collide there"),
    -13: (_TOO_FAR, "the goal violates a constraint"),
    -14: (_TOO_FAR, "the goal cannot be met"),
    -15: (_FAULT, "it does not know the group (arm.group)"),
    -16: (_FAULT, "it does not accept the goal"),
    -17: (_FAULT, "it does not accept the robot's state"),
    -18: (_FAULT, "it does not know the link (arm.tip)"),
    -21: (_FAULT, "it cannot transform the goal's frame"),
    -22: (_FAULT, "it cannot check for collisions"),
    -23: (_FAULT, "its state of the robot is too old"),
    -24: (_FAULT, "its sensor data are too old"),
    -25: (_FAULT, "it cannot talk to its parts"),
    -27: (_TOO_FAR, "the goal is not a valid state"),
    -29: (_FAULT, "it crashed"),
    -30: (_FAULT, "it aborted"),
    -31: (_TOO_FAR, "the arm does not get there"),
}
_TRAJECTORY: dict[int, _Meaning] = {
    -1: (_FAULT, "it does not accept the motion"),
    -2: (_FAULT, "its joints are others than in the settings"),
    -3: (_FAULT, "the motion's time lies in the past"),
    -4: (_BLOCKED, "the joints did not follow; something is in the way"),
    -5: (_BLOCKED, "the joints did not get there; something is in the way"),
}
_MEANINGS = {
    Interface.NAVIGATE: _NAVIGATION,
    Interface.PATH: _NAVIGATION,
    Interface.BACK_UP: _NAVIGATION,
    Interface.MOVEIT: _MOVEIT,
    Interface.TRAJECTORY: _TRAJECTORY,
    Interface.GRIPPER: _TRAJECTORY,
    Interface.GRASPS: _MOVEIT,
}


def explain(errand: Errand) -> tuple[PrimitiveCode, str]:
    """The code and the sentence of a goal that did not succeed."""
    who = errand.server
    if errand.state is State.REJECTED:
        return _FAULT, f"{who} rejected the goal{_words(errand)}"
    if errand.state is State.CANCELED:
        return PrimitiveCode.STOPPED, f"{who}: the goal was canceled by someone else"
    known = _MEANINGS[errand.interface].get(errand.code)
    if known is None:
        return _FAULT, f"{who} failed with the code {errand.code}{_words(errand)}"
    code, text = known
    return code, f"{who}: {text} (code {errand.code}{_words(errand, ': ')})"


def does_not_get_there(errand: Errand) -> bool:
    """Whether another pose may be tried: the arm was not moved, or stopped at an obstacle."""
    known = _MEANINGS[errand.interface].get(errand.code)
    aborted = errand.state is State.ABORTED
    return aborted and known is not None and known[0] in (_TOO_FAR, _BLOCKED)


def _words(errand: Errand, before: str = ": ") -> str:
    # Of a foreign program: bounded, on one line.
    text = " ".join(errand.text.split())[:200]
    return f"{before}{text}" if text else ""
