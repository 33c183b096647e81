"""What the backend `ros` sees of its robot: sent goals and newest readings, without ROS."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose
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
