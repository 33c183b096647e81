"""The differential base, its odometry, and what Nav2's servers do with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.world.geometry import Pose, wrap_angle_rad
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.ros.emulator.joint_control import Ended, GoalError, Status

# The differential base, its odometry, and the localiser that corrects it.

RADIUS_M = 0.28
# A little less than what paths keep off, or a base beside its path would be stuck.
_SOLID_M = 0.2
SPEED_M_S, TURN_RAD_S = 0.5, 1.2
ACCELERATION_M_S2, BRAKING_M_S2 = 1.0, 2.5
TURN_ACCELERATION_RAD_S2, TURN_BRAKING_RAD_S2 = 3.0, 6.0
# Without a command for this long a base controller stops.
COMMAND_TIMEOUT_S = 0.5
# As amcl's parameters update_min_d and update_min_a.
UPDATE_M, UPDATE_RAD = 0.25, 0.2
# Share by which wheels count too much or too little: one factor each for way and turn.
_SLIP = 0.01


class Base:
    """Where the robot is, where its wheels say, and where its localiser says.

    Attributes:
        pose: `base_footprint` in the map, the truth.
        odom: the same in `odom`, as the wheels count.
        map_to_odom: `odom` in `map`, the localiser's answer.
        localised_s: when that was last updated.
    """

    def __init__(self, ground: HouseGround, start: Pose, seed: int) -> None:
        self._grid = ground.grid(_SOLID_M)
        self.pose, self.odom = start, Pose((0.0, 0.0, 0.0))
        rng = np.random.default_rng([seed, 7])
        self._slip = 1.0 + rng.uniform(-_SLIP, _SLIP, 2)
        self.speed_m_s = self.turn_rad_s = 0.0
        self._command = (0.0, 0.0)
        self._command_s = -math.inf
        self.localise(start, 0.0)

    @property
    def estimate(self) -> Pose:
        """`base_footprint` in the map as /tf says."""
        return self.map_to_odom.compose(self.odom)

    def localise(self, pose: Pose, now_s: float) -> None:
        """Takes a pose for that of the base; one that is not finite is none."""
        if not all(map(math.isfinite, (*pose.position_m, pose.yaw_rad))):
            return
        self.map_to_odom = pose.compose(self.odom.inverse())
        self.localised_s, self._localised_at = now_s, self.odom

    def command(self, speed_m_s: float, turn_rad_s: float, now_s: float) -> None:
        """Takes a velocity, whoever sent it; one that is not finite is none."""
        if math.isfinite(speed_m_s) and math.isfinite(turn_rad_s):
            self._command = (
                min(max(speed_m_s, -SPEED_M_S), SPEED_M_S),
                min(max(turn_rad_s, -TURN_RAD_S), TURN_RAD_S),
            )
            self._command_s = now_s

    def step(self, now_s: float, dt_s: float) -> bool:
        """Moves for `dt_s`, up to walls and furniture; whether it moved."""
        stale = now_s - self._command_s > COMMAND_TIMEOUT_S
        speed, turn = (0.0, 0.0) if stale else self._command
        rates = (ACCELERATION_M_S2, BRAKING_M_S2), (TURN_ACCELERATION_RAD_S2, TURN_BRAKING_RAD_S2)
        self.speed_m_s = _towards(self.speed_m_s, speed, rates[0], dt_s)
        self.turn_rad_s = _towards(self.turn_rad_s, turn, rates[1], dt_s)
        if self.speed_m_s == 0.0 and self.turn_rad_s == 0.0:
            return False
        there = _moved(self.pose, self.speed_m_s * dt_s, self.turn_rad_s * dt_s)
        x, y, _ = there.position_m
        if not self._grid.is_free(x, y) and self._grid.is_free(*self.pose.position_m[:2]):
            self.speed_m_s = 0.0
            there = _moved(self.pose, 0.0, self.turn_rad_s * dt_s)
        way, turned = self._slip * (self.speed_m_s * dt_s, self.turn_rad_s * dt_s)
        self.pose, self.odom = there, _moved(self.odom, float(way), float(turned))
        since = self._localised_at.inverse().compose(self.odom)
        if math.hypot(*since.position_m) >= UPDATE_M or abs(since.yaw_rad) >= UPDATE_RAD:
            self.localise(self.pose, now_s)
        return True


def _towards(value: float, goal: float, rates: tuple[float, float], dt_s: float) -> float:
    most = rates[abs(goal) < abs(value) or goal * value < 0] * dt_s
    return value + min(max(goal - value, -most), most)


def _moved(pose: Pose, way_m: float, turn_rad: float) -> Pose:
    x, y, _ = pose.position_m
    yaw = pose.yaw_rad + turn_rad / 2
    return Pose.planar(
        x + way_m * math.cos(yaw), y + way_m * math.sin(yaw), wrap_angle_rad(yaw + turn_rad / 2)
    )


Point = tuple[float, float]

# Codes of nav2_msgs/ComputePathToPose, which NavigateToPose passes on.
INVALID_PLANNER, TF_ERROR, START_OUTSIDE_MAP, GOAL_OUTSIDE_MAP = 201, 202, 203, 204
START_OCCUPIED, GOAL_OCCUPIED, NO_VALID_PATH = 205, 206, 208
# Of FollowPath, passed on likewise; and NavigateToPose's own.
FAILED_TO_MAKE_PROGRESS, NAVIGATE_TF_ERROR = 105, 9002
# Of BackUp.
BACK_UP_TIMEOUT, BACK_UP_INVALID, BACK_UP_COLLISION = 711, 713, 714
# How far behind it BackUp looks for obstacles.
_BEHIND_M = 0.1
# A start beside free floor is moved onto it, up to here.
_START_SLACK_M = 0.3
_REPLAN_S = 1.0
# As nav2_controller's progress checker.
_PROGRESS_M, _PROGRESS_RAD, _PROGRESS_S = 0.5, 0.5, 10.0
_MAX_RECOVERIES, _RECOVERY_S = 2, 1.0
_CORNER_M = 0.08
_BRAKING_M_S2 = 0.4


class PathPlanner:
    """Shortest paths over the floor where the base fits."""

    def __init__(self, ground: HouseGround) -> None:
        self._ground = ground

    def plan(self, start: Pose, goal: Pose) -> list[Point]:
        """The corners of a path, with its start and its end, in the map.

        Raises:
            GoalError: if there is none, with ComputePathToPose's code.
        """
        grid = self._ground.grid(RADIUS_M)
        (x, y), (gx, gy) = start.position_m[:2], goal.position_m[:2]
        if grid.cell(x, y) is None:
            raise GoalError(START_OUTSIDE_MAP, f"the start ({x:.2f}, {y:.2f}) is off the map")
        target = grid.cell(gx, gy)
        if target is None:
            raise GoalError(GOAL_OUTSIDE_MAP, f"the goal ({gx:.2f}, {gy:.2f}) is off the map")
        if not grid.free.flat[target]:
            raise GoalError(GOAL_OCCUPIED, f"the goal ({gx:.2f}, {gy:.2f}) is in an obstacle")
        if grid.nearest_free(x, y, _START_SLACK_M) is None:
            raise GoalError(START_OCCUPIED, f"the start ({x:.2f}, {y:.2f}) is in an obstacle")
        way = self._ground.way(RADIUS_M, (x, y), target)
        if not math.isfinite(way.length_m):
            raise GoalError(NO_VALID_PATH, f"no path leads to ({gx:.2f}, {gy:.2f})")
        return [(x, y), *way.corners[:-1], (gx, gy)]

    def is_occupied(self, pose: Pose) -> bool:
        """Whether the base does not fit somewhere."""
        x, y, _ = pose.position_m
        return not self._ground.grid(RADIUS_M).is_free(x, y)


def path_length_m(points: Sequence[Point]) -> float:
    """The length of a line through points."""
    return sum(math.dist(a, b) for a, b in itertools.pairwise(points))


def path_poses(points: Sequence[Point], goal: Pose, step_m: float = 0.05) -> list[Pose]:
    """Poses along a path, each towards the next, the last as the goal."""
    poses = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        count = max(1, math.ceil(math.dist((x0, y0), (x1, y1)) / step_m))
        yaw = math.atan2(y1 - y0, x1 - x0)
        poses += [
            Pose.planar(x0 + (x1 - x0) * k / count, y0 + (y1 - y0) * k / count, yaw)
            for k in range(count)
        ]
    return [*poses, goal.on_ground()]


@dataclass(frozen=True, slots=True)
class Progress:
    """What feedback tells. Of the poses that are left, the first is being approached."""

    since_s: float
    distance_m: float
    remaining_s: float
    recoveries: int
    poses_left: int


@dataclass(frozen=True, slots=True)
class BackingUp:
    """Nav2's behaviour: where it began, how far and fast, and until when."""

    start: Pose
    distance_m: float
    speed_m_s: float
    ends_s: float


class Navigator:
    """One navigation at a time. Poses are in the map, times in seconds of any one clock.

    `limit_m_s`: the greatest speed, by Nav2's `speed_limit`.
    """

    def __init__(
        self, planner: PathPlanner, goal_tolerance_m: float, goal_tolerance_rad: float
    ) -> None:
        self._planner = planner
        self._tolerance = (goal_tolerance_m, goal_tolerance_rad)
        self._goals: list[Pose] = []
        self.path: list[Point] = []
        self._backing: BackingUp | None = None
        self.limit_m_s = SPEED_M_S

    @property
    def is_active(self) -> bool:
        """Whether it is navigating or backing up."""
        return bool(self._goals) or self._backing is not None

    def back_up(self, backing: BackingUp) -> None:
        """Drives straight backwards instead of what it did."""
        self.stop()
        self._backing = backing

    def _back(self, backing: BackingUp, here: Pose, now_s: float) -> tuple[float, float] | Ended:
        behind = here.compose(Pose((-_BEHIND_M, 0.0, 0.0)))
        gone_m = math.dist(here.position_m[:2], backing.start.position_m[:2])
        ended = None
        if gone_m >= backing.distance_m:
            ended = Ended(Status.SUCCEEDED)
        elif now_s > backing.ends_s:
            ended = Ended(Status.ABORTED, BACK_UP_TIMEOUT, "exceeded the time allowance")
        elif self._planner.is_occupied(behind) and not self._planner.is_occupied(here):
            ended = Ended(Status.ABORTED, BACK_UP_COLLISION, "a collision is ahead")
        if ended is None:
            return -min(backing.speed_m_s, self.limit_m_s), 0.0
        self.stop()
        return ended

    def begin(self, goals: Sequence[Pose], now_s: float) -> None:
        """Navigates to the last pose by way of the others, instead of what it did."""
        self.stop()
        self._goals = list(goals)
        self._began_s = self._planned_s = now_s
        self._recoveries, self._waits_until_s = 0, now_s
        self._seen: tuple[Pose, float] | None = None
        self._arrived = False

    def stop(self) -> None:
        """Gives up what it did."""
        self._goals, self.path, self._backing = [], [], None

    def progress(self, here: Pose, now_s: float) -> Progress:
        """For feedback."""
        way = [here.position_m[:2], *self.path] if self.path else []
        way += [goal.position_m[:2] for goal in self._goals[1:]]
        left_m = path_length_m(way)
        return Progress(
            now_s - self._began_s, left_m, left_m / SPEED_M_S, self._recoveries, len(self._goals)
        )

    def step(self, here: Pose, now_s: float) -> tuple[float, float] | Ended:
        """The velocity to send now, or the end. `here`: by the localiser."""
        if self._backing is not None:
            return self._back(self._backing, here, now_s)
        if now_s < self._waits_until_s:
            return 0.0, 0.0
        if not self.path or now_s - self._planned_s >= _REPLAN_S:
            try:
                self.path = self._planner.plan(here, self._goals[0])[1:]
            except GoalError as error:
                return self._recovered(error.ended, now_s)
            self._planned_s = now_s
        if not self._moves(here, now_s):
            stuck = Ended(Status.ABORTED, FAILED_TO_MAKE_PROGRESS, "the robot makes no progress")
            return self._recovered(stuck, now_s)
        command = self._follow(here)
        if command is not None:
            return command
        self._goals.pop(0)
        self.path, self._arrived = [], False
        if self._goals:
            return 0.0, 0.0
        return Ended(Status.SUCCEEDED)

    def _recovered(self, ended: Ended, now_s: float) -> tuple[float, float] | Ended:
        """Waits to try again, or gives up: at once where no recovery helps."""
        helps = ended.code in (NO_VALID_PATH, FAILED_TO_MAKE_PROGRESS)
        if not helps or self._recoveries >= _MAX_RECOVERIES:
            self.stop()
            return ended
        self._recoveries += 1
        self._waits_until_s, self._seen = now_s + _RECOVERY_S, None
        return 0.0, 0.0

    def _moves(self, here: Pose, now_s: float) -> bool:
        if self._seen is not None:
            was, at_s = self._seen
            way = math.dist(here.position_m[:2], was.position_m[:2])
            turn = abs(wrap_angle_rad(here.yaw_rad - was.yaw_rad))
            if way < _PROGRESS_M and turn < _PROGRESS_RAD:
                return now_s - at_s < _PROGRESS_S
        self._seen = (here, now_s)
        return True

    def _follow(self, here: Pose) -> tuple[float, float] | None:
        """The velocity along the path; None at the goal. The position counts once it is reached."""
        x, y, _ = here.position_m
        while len(self.path) > 1 and math.dist((x, y), self.path[0]) < _CORNER_M:
            self.path.pop(0)
        goal, (tx, ty) = self._goals[0], self.path[0]
        gap = math.dist((x, y), self.path[0])
        through = len(self._goals) > 1
        if len(self.path) == 1 and gap <= self._tolerance[0]:
            self._arrived = True
        if self._arrived:
            off = wrap_angle_rad(goal.yaw_rad - here.yaw_rad)
            if through or abs(off) <= self._tolerance[1]:
                return None
            return 0.0, _turn(off)
        off = wrap_angle_rad(math.atan2(ty - y, tx - x) - here.yaw_rad)
        if abs(off) > 0.6:
            return 0.0, _turn(off)
        left = gap + path_length_m(self.path)
        speed = (
            min(self.limit_m_s, math.sqrt(2 * _BRAKING_M_S2 * left)) * max(0.0, math.cos(off)) ** 2
        )
        return max(speed, min(0.05, self.limit_m_s)), _turn(off)


def _turn(off_rad: float) -> float:
    turn = min(max(2.0 * off_rad, -TURN_RAD_S), TURN_RAD_S)
    # Below this the last degrees would take for ever.
    return math.copysign(max(abs(turn), 0.15), off_rad)
