"""The whole robot in its house, stepped in real time; what its servers command goes through here.

Every method takes the lock; all but `move_group.py`'s planning is a matter of microseconds.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.world.geometry import Pose
from planner.world.state import WorldState
from sim_bridge.ros.emulator.house import RobotHouse
from sim_bridge.ros.emulator.joint_control import (
    ARM,
    FINGERS,
    GRASP,
    HEAD,
    INVALID_GOAL,
    TORSO,
    TUCKED,
    Ended,
    Follower,
    GoalError,
    Gripper,
    Kinematics,
    RobotModel,
    Status,
    Trajectory,
)
from sim_bridge.ros.emulator.navigation import (
    BACK_UP_INVALID,
    SPEED_M_S,
    BackingUp,
    Base,
    Navigator,
    PathPlanner,
)

Done = Callable[[Ended], None]
CONTROLLERS = {"arm_controller": ARM, "torso_controller": TORSO, "head_controller": HEAD}
CONTROL_PERIOD_S = 0.05
_GRIPPER_SPEED_M_S = 0.1
_EMPTY_AFTER_S = 4 * 3600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How the robot's servers and topics are set, by the names of the command's options."""

    seed: int = 0
    namespace: str = ""
    image_encoding: str = "rgb8"
    depth_encoding: str = "16UC1"
    parallel_gripper: bool = False
    allow_stalling: bool = False
    stamped_cmd_vel: bool = False
    goal_tolerance: float = 0.1
    goal_tolerance_yaw: float = 0.1
    truth: bool = False


class Simulation:
    """One robot in one house."""

    def __init__(self, house: RobotHouse, robot: RobotModel, settings: Settings) -> None:
        self.lock = threading.RLock()
        self.house, self.robot, self.settings = house, robot, settings
        self.base = Base(house.ground, house.start, settings.seed)
        self.q = robot.zeros(TUCKED)
        self.gripper = Gripper()
        self.followers = {n: Follower(robot, joints, self.q) for n, joints in CONTROLLERS.items()}
        self.kinematics = Kinematics(robot)
        self.planner = PathPlanner(house.ground)
        self.navigator = Navigator(
            self.planner, settings.goal_tolerance, settings.goal_tolerance_yaw
        )
        self.now_s = 0.0
        self._control_s = 0.0
        # Whether a navigation that was stopped has yet to send its zero.
        self._brakes = False
        self._done: dict[str, Done] = {}
        self._place()

    # Time

    def step(self, dt_s: float, stamp_s: float) -> tuple[float, float] | None:
        """Passes time.

        Args:
            dt_s: how much.
            stamp_s: the present by the clock of messages.

        Returns:
            The velocity that the navigation sends now, if it sends one.
        """
        with self.lock:
            self.now_s += dt_s
            self.house.world.time_s = stamp_s
            self.house.world.steps += 1
            before = self.q.copy()
            for name, follower in self.followers.items():
                self._end(name, follower.step(self.now_s, dt_s))
            moved = self.base.step(self.now_s, dt_s) or bool((before != self.q).any())
            if self._squeeze(dt_s) or moved:
                self._place()
            return self._navigate()

    def _squeeze(self, dt_s: float) -> bool:
        gripper, house = self.gripper, self.house
        was = gripper.gap_m
        floor = house.obstacle_m(was) if gripper.is_closing else 0.0
        stalling = self.settings.allow_stalling
        ended = gripper.step(self.now_s, dt_s, floor, allow_stalling=stalling)
        if gripper.gap_m > was:
            house.opened(gripper.gap_m)
        elif floor > 0 and gripper.gap_m <= floor + 1e-6:
            house.closed(gripper.gap_m)
        self.q[self.robot.indices(FINGERS)] = gripper.gap_m / 2
        self._end("gripper", ended)
        return gripper.gap_m != was

    def _place(self) -> None:
        self.kinematics.set(self.q)
        self.house.follow(self.base.pose, self.base.pose.compose(self.kinematics.pose(GRASP)))

    def _navigate(self) -> tuple[float, float] | None:
        if self._brakes:
            self._brakes = False
            return 0.0, 0.0
        if not self.navigator.is_active or self.now_s - self._control_s < CONTROL_PERIOD_S - 1e-3:
            return None
        self._control_s = self.now_s
        told = self.navigator.step(self.base.estimate, self.now_s)
        if not isinstance(told, Ended):
            return told
        self._end("navigation", told)
        return 0.0, 0.0

    # Commands. `done` is called once, with the end, under the lock.

    def drive(self, speed_m_s: float, turn_rad_s: float) -> None:
        """Takes a velocity from /cmd_vel."""
        with self.lock:
            self.base.command(speed_m_s, turn_rad_s, self.now_s)

    def follow(self, controller: str, trajectory: Trajectory, done: Done) -> None:
        """Follows a trajectory instead of what the controller did."""
        with self.lock:
            replaced = Ended(Status.ABORTED, INVALID_GOAL, "another trajectory replaced it")
            self._end(controller, replaced)
            self.followers[controller].begin(trajectory, self.now_s)
            self._done[controller] = done

    def grip(self, gap_m: float, max_effort_n: float, speed_m_s: float, done: Done) -> None:
        """Moves the fingers to a width between them.

        Raises:
            GoalError: if that is not finite.
        """
        if not math.isfinite(gap_m):
            raise GoalError(0, "the position is not finite")
        with self.lock:
            self._end("gripper", Ended(Status.ABORTED, 0, "another command replaced it"))
            speed = speed_m_s if speed_m_s > 0 else _GRIPPER_SPEED_M_S
            self.gripper.begin(gap_m, max_effort_n, min(speed, _GRIPPER_SPEED_M_S))
            self._done["gripper"] = done

    def navigate(self, goals: Sequence[Pose], done: Done) -> None:
        """Drives through poses in the map to the last of them."""
        with self.lock:
            self._end("navigation", Ended(Status.ABORTED))
            self.navigator.begin(goals, self.now_s)
            self._done["navigation"] = done

    def back_up(self, distance_m: float, speed_m_s: float, allowance_s: float, done: Done) -> None:
        """Drives straight backwards.

        Raises:
            GoalError: for a distance, speed or time that is not above 0.
        """
        numbers = (abs(distance_m), abs(speed_m_s), allowance_s)
        if not all(math.isfinite(number) and number > 0 for number in numbers):
            raise GoalError(BACK_UP_INVALID, "distance, speed and time must be above 0")
        with self.lock:
            self._end("navigation", Ended(Status.ABORTED))
            start, ends_s = self.base.estimate, self.now_s + allowance_s
            self.navigator.back_up(BackingUp(start, abs(distance_m), abs(speed_m_s), ends_s))
            self._done["navigation"] = done

    def limit_speed(self, speed_m_s: float) -> None:
        """Bounds the navigation's speed; 0: no more."""
        with self.lock:
            most = SPEED_M_S if speed_m_s <= 0 else min(speed_m_s, SPEED_M_S)
            self.navigator.limit_m_s = most

    def hold(self, name: str) -> None:
        """Stops a controller, the gripper or the navigation where it is; its goal is canceled."""
        with self.lock:
            if name == "navigation":
                self._brakes = self.navigator.is_active
                self.navigator.stop()
            elif name == "gripper":
                self.gripper.hold()
            else:
                self.followers[name].hold()
            self._end(name, Ended(Status.CANCELED))

    def crash_navigation(self) -> None:
        """Ends the navigation as if its process were killed: nothing stops the base but time."""
        with self.lock:
            self.hold("navigation")
            self._brakes = False

    def _end(self, name: str, ended: Ended | None) -> None:
        if ended is not None:
            done = self._done.pop(name, None)
            if done is not None:
                done(ended)

    # Queries

    def in_base(self, frame: str) -> Pose | None:
        """A frame of /tf in `base_footprint` as /tf has it; None for an unknown frame."""
        with self.lock:
            frame = frame.removeprefix("/")
            if frame == "map":
                return self.base.estimate.inverse()
            if frame == "odom":
                return self.base.odom.inverse()
            return self.kinematics.pose(frame) if frame in self.robot.links else None

    def in_map(self, frame: str, pose: Pose) -> Pose | None:
        """A pose in a frame as a pose in the map, by /tf; None for an unknown frame."""
        with self.lock:
            on_base = self.in_base(frame)
            if frame == "map" or on_base is None:
                return pose if frame == "map" else None
            return self.base.estimate.compose(on_base).compose(pose)

    def touchable(self) -> frozenset[str]:
        """Furniture that the arm may touch: that whose handle it holds."""
        with self.lock:
            handle = self.house.handle
            return frozenset() if handle is None else frozenset({handle[0].name})

    @property
    def charge(self) -> float:
        """What is left in the battery, 0 to 1."""
        return max(0.0, 1.0 - self.now_s / _EMPTY_AFTER_S)

    def world_state(self) -> WorldState:
        """The truth."""
        with self.lock:
            return self.house.world.snapshot()
