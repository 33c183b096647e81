"""What MoveIt's move_group does: goals to joint positions, a path that touches nothing, timing."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from planner.world.geometry import FloatArray, Pose, Vec3
from sim_bridge.ros.emulator.house import StillScene, Touch
from sim_bridge.ros.emulator.joint_control import (
    ARM,
    TORSO,
    TUCKED,
    Ended,
    GoalError,
    Kinematics,
    RobotModel,
    Status,
    Trajectory,
    rotation_error,
)
from sim_bridge.ros.emulator.simulation import CONTROLLERS, Simulation

# moveit_msgs/MoveItErrorCodes.
SUCCESS, PLANNING_FAILED, CONTROL_FAILED, TIMED_OUT, PREEMPTED = 1, -1, -4, -6, -7
GOAL_IN_COLLISION, INVALID_GROUP_NAME, INVALID_GOAL_CONSTRAINTS = -12, -15, -16
INVALID_ROBOT_STATE, INVALID_LINK_NAME, FRAME_TRANSFORM_FAILURE = -17, -18, -21
NO_IK_SOLUTION = -31

GROUPS: Mapping[str, tuple[str, ...]] = {"arm": ARM, "arm_torso": (*TORSO, *ARM)}
READY = dict(zip(ARM, (-0.67, 0.37, -1.0, -2.2, 0.05, 1.5, 0.9), strict=True))
_STEP = 0.06
_POINT_S = 0.1
_DEFAULT_TIME_S = 5.0
# Metres count as much as this many radians.
_METRES = 8.0


@dataclass(frozen=True, slots=True)
class LinkGoal:
    """Where a link has to be, in `base_footprint`.

    Attributes:
        offset_m: the point of the link that the region is for.
        region: the middle of a box, or of a ball if `radius_m` is given.
        half_m: of the box.
        rotation: (3, 3), or None for any.
        tolerance_rad: about the axes of `rotation`.
    """

    link: str
    offset_m: Vec3 = (0.0, 0.0, 0.0)
    region: Pose | None = None
    half_m: Vec3 = (1e-3, 1e-3, 1e-3)
    radius_m: float | None = None
    rotation: FloatArray | None = None
    tolerance_rad: Vec3 = (1e-2, 1e-2, 1e-2)


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """A goal of MoveGroup: joints with tolerances below and above, or a link's pose."""

    group: str
    joints: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    link: LinkGoal | None = None
    speed: float = 1.0
    allowed_s: float = 0.0


class MotionPlanner:
    """Plans for one thread. Random choices repeat with the seed."""

    def __init__(self, robot: RobotModel, touch: Touch, seed: int) -> None:
        self._robot, self._touch = robot, touch
        self._kinematics = Kinematics(robot)
        self._rng = np.random.default_rng([seed, 9])

    def check(self, request: MotionRequest) -> None:
        """Refuses what is wrong before any planning.

        Raises:
            GoalError: with MoveItErrorCodes' code.
        """
        robot, link = self._robot, request.link
        joints = GROUPS.get(request.group)
        if joints is None:
            known = ", ".join(GROUPS)
            raise GoalError(INVALID_GROUP_NAME, f"no group {request.group!r}; there are {known}")
        if not request.joints and link is None:
            raise GoalError(INVALID_GOAL_CONSTRAINTS, "the goal names neither joints nor a link")
        for name, (value, below, above) in request.joints.items():
            i = robot.index.get(name, 0)
            if name not in joints or not robot.lower[i] - below <= value <= robot.upper[i] + above:
                text = f"{name} at {value:.3f}: not of {request.group}, or off limits"
                raise GoalError(INVALID_GOAL_CONSTRAINTS, text)
        if link is not None and link.link not in robot.links:
            raise GoalError(INVALID_LINK_NAME, f"no link {link.link!r}")
        if (
            link is not None
            and link.region is not None
            and not np.isfinite((*link.region.position_m, *link.offset_m)).all()
        ):
            raise GoalError(INVALID_GOAL_CONSTRAINTS, "the region is not finite")

    def plan(
        self, request: MotionRequest, q: FloatArray, base: Pose, ignored: Collection[str] = ()
    ) -> Trajectory:
        """A motion of the group from these positions of all joints to the goal.

        Args:
            request: what is wanted.
            q: of all joints, where it begins.
            base: `base_footprint` in the map, for what could be touched.
            ignored: furniture that may be touched; so may what is touched at the beginning.

        Raises:
            GoalError: with MoveItErrorCodes' code.
        """
        self.check(request)
        ends_s = time.monotonic() + (request.allowed_s or _DEFAULT_TIME_S)
        joints = GROUPS[request.group]
        touched = self._touch.first(base, q, ignored)
        free = {*ignored, touched} if touched is not None else set(ignored)
        in_the_way, late = "", False
        for goal in self._goals(request, q, joints, ends_s):
            hit = self._touch.first(base, goal, free)
            if hit is not None:
                in_the_way = in_the_way or f"the goal touches {hit}"
                continue
            way = self._way(q, goal, joints, base, free, ends_s)
            if way is not None:
                return self._timed(way, joints, request.speed)
            late = True
        if late and time.monotonic() > ends_s:
            raise GoalError(TIMED_OUT, "no path was found in the allowed time")
        if late:
            raise GoalError(PLANNING_FAILED, "no path to the goal touches nothing")
        if in_the_way:
            raise GoalError(GOAL_IN_COLLISION, in_the_way)
        raise GoalError(NO_IK_SOLUTION, "no joint positions put the link there")

    # Details

    def _goals(
        self, request: MotionRequest, q: FloatArray, joints: tuple[str, ...], ends_s: float
    ) -> Iterator[FloatArray]:
        if request.link is None:
            goal = q.copy()
            for name, (value, _, _) in request.joints.items():
                i = self._robot.index[name]
                goal[i] = min(max(value, self._robot.lower[i]), self._robot.upper[i])
            yield goal
            return
        free = self._robot.indices(joints)
        low, high = self._robot.lower[free], self._robot.upper[free]
        for attempt in range(40):
            start = q.copy()
            if attempt == 1:
                start[self._robot.indices(ARM)] = list(READY.values())
            elif attempt > 1:
                start[free] = self._rng.uniform(low, high)
            goal, _ = self._kinematics.solve(lambda: self._off(request, joints), start, free)
            if self._is_met(request.link):
                yield goal
            if time.monotonic() > ends_s:
                return

    def _off(self, request: MotionRequest, joints: tuple[str, ...]) -> FloatArray:
        """The residual that inverse kinematics makes small."""
        goal = request.link
        assert goal is not None  # noqa: S101 - asked for links only
        away, turned = self._errors(goal)
        slack = np.array(goal.tolerance_rad) * 0.9
        turned = np.sign(turned) * np.maximum(np.abs(turned) - slack, 0.0)
        parts = [away * _METRES, turned]
        # A pull to the middle of each range, far weaker than any error that matters.
        free = self._robot.indices(joints)
        middle = (self._robot.lower[free] + self._robot.upper[free]) / 2
        parts.append((self._kinematics.q[free] - middle) * 1e-4)
        return np.concatenate(parts)

    def _errors(self, goal: LinkGoal) -> tuple[FloatArray, FloatArray]:
        here = self._kinematics.pose(goal.link)
        away, turned = np.zeros(3), np.zeros(3)
        if goal.region is not None:
            away = np.array(goal.region.inverse().apply(here.apply(goal.offset_m)))
        if goal.rotation is not None:
            turned = rotation_error(goal.rotation, here.rotation())
        return away, turned

    def _is_met(self, goal: LinkGoal) -> bool:
        away, turned = self._errors(goal)
        if goal.radius_m is not None:
            inside = float(np.linalg.norm(away)) <= goal.radius_m + 1e-4
        else:
            inside = bool((np.abs(away) <= np.array(goal.half_m) + 1e-4).all())
        return inside and bool((np.abs(turned) <= np.array(goal.tolerance_rad) + 1e-4).all())

    def _way(
        self,
        q: FloatArray,
        goal: FloatArray,
        joints: tuple[str, ...],
        base: Pose,
        ignored: Collection[str],
        ends_s: float,
    ) -> list[FloatArray] | None:
        """Corners from q to the goal, straight or by way of one other posture."""
        if self._is_clear(q, goal, base, ignored):
            return [q, goal]
        places = self._robot.indices(joints)
        low, high = self._robot.lower[places], self._robot.upper[places]
        for attempt in range(24):
            if time.monotonic() > ends_s:
                return None
            via = goal.copy()
            if attempt < 2:
                via[self._robot.indices(ARM)] = list((READY, TUCKED)[attempt].values())
            else:
                middle = (q[places] + goal[places]) / 2
                spread = 0.3 + 0.08 * attempt
                via[places] = np.clip(
                    middle + self._rng.normal(0.0, spread, len(places)), low, high
                )
            if self._is_clear(q, via, base, ignored) and self._is_clear(via, goal, base, ignored):
                return [q, via, goal]
        return None

    def _is_clear(
        self, start: FloatArray, end: FloatArray, base: Pose, ignored: Collection[str]
    ) -> bool:
        count = max(2, int(np.ceil(np.abs(end - start).max() / _STEP)))
        return all(
            self._touch.first(base, start + (end - start) * k / count, ignored) is None
            for k in range(1, count + 1)
        )

    def _timed(
        self, corners: list[FloatArray], joints: tuple[str, ...], speed: float
    ) -> Trajectory:
        """From rest to rest between corners, within the joints' speeds."""
        places = self._robot.indices(joints)
        # Out of its range it is 1, as in MoveIt.
        share = speed if 0 < speed <= 1 else 1.0
        times, points, speeds = [0.0], [corners[0][places]], [np.zeros(len(places))]
        for a, b in itertools.pairwise(corners):
            way = b[places] - a[places]
            span = max(float((1.5 * np.abs(way) / (self._robot.speed[places] * share)).max()), 0.2)
            count = max(2, int(np.ceil(span / _POINT_S)))
            began = times[-1]
            for k in range(1, count + 1):
                u = k / count
                times.append(began + u * span)
                points.append(a[places] + way * (3 * u**2 - 2 * u**3))
                speeds.append(way * 6 * u * (1 - u) / span)
        return Trajectory(joints, np.array(times), np.array(points), np.array(speeds))


# One goal of MoveGroup at a time: it is planned in a thread of its own and then carried out.

# As MoveIt's parameter allowed_start_tolerance.
_START_TOLERANCE = 0.01


@dataclass(frozen=True)
class Motion(Ended):
    """The end of a goal with MoveItErrorCodes' code, and what was planned."""

    trajectory: Trajectory | None = None
    planning_s: float = 0.0


class MoveGroup:
    """Plans and executes; `done` of each goal is called once, from any thread."""

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self._simulation = simulation
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="move-group")
        self._scene = StillScene(simulation.house, simulation.robot)
        self._planner = MotionPlanner(simulation.robot, Touch(self._scene), seed)
        # Counts goals, so that the end of an old one is not taken for that of the newest.
        self._number = 0
        self._done: Callable[[Motion], None] | None = None
        self._running: set[str] = set()

    def begin(
        self,
        request: MotionRequest,
        start: FloatArray | None,
        *,
        plan_only: bool,
        done: Callable[[Motion], None],
    ) -> None:
        """Takes a goal instead of the running one. `start`: all joints; None: where they are."""
        with self._simulation.lock:
            self.cancel()
            self._number += 1
            number, self._done = self._number, done
        planning = self._pool.submit(self.plan, request, start)
        planning.add_done_callback(lambda f: self._planned(number, f, plan_only))

    def plan(self, request: MotionRequest, start: FloatArray | None) -> Motion:
        """Plans, in the thread that calls; never from two at once."""
        began_s = time.monotonic()
        with self._simulation.lock:
            q = self._simulation.q.copy() if start is None else start
            base, ignored = self._simulation.base.pose, self._simulation.touchable()
            self._scene.take(base, q)
        try:
            found = self._planner.plan(request, q, base, ignored)
        except GoalError as error:
            return Motion(Status.ABORTED, error.ended.code, error.ended.text)
        return Motion(Status.SUCCEEDED, SUCCESS, "", found, time.monotonic() - began_s)

    def wait(self, limit_s: float) -> None:
        """Waits until what was asked so far is planned."""
        self._pool.submit(int).result(limit_s)

    def cancel(self) -> None:
        """Stops the arm and gives up the goal."""
        with self._simulation.lock:
            running, self._running = self._running, set()
            for name in running:
                self._simulation.hold(name)
            self._end(Motion(Status.CANCELED, PREEMPTED, "the goal was preempted"))

    def close(self) -> None:
        """Ends its thread; what a controller follows already goes on."""
        with self._simulation.lock:
            self._number += 1
            self._done = None
        self._pool.shutdown(cancel_futures=True)

    def _planned(self, number: int, planning: Future[Motion], plan_only: bool) -> None:
        if planning.cancelled():
            return
        motion = planning.result()
        with self._simulation.lock:
            if number != self._number or self._done is None:
                return
            if motion.trajectory is None or plan_only:
                self._end(motion)
                return
            trajectory = motion.trajectory
            here = self._simulation.q[self._simulation.robot.indices(trajectory.joints)]
            if np.abs(trajectory.positions[0] - here).max() > _START_TOLERANCE:
                text = "the trajectory does not begin where the robot is"
                self._end(replace(motion, status=Status.ABORTED, code=CONTROL_FAILED, text=text))
                return
            parts = _by_controller(trajectory)
            self._running = set(parts)
            for name, part in parts.items():
                done = partial(self._followed, number, name, motion)
                self._simulation.follow(name, part, done)

    def _followed(self, number: int, name: str, motion: Motion, ended: Ended) -> None:
        if number != self._number or name not in self._running:
            return
        self._running.discard(name)
        if ended.status is not Status.SUCCEEDED:
            rest, self._running = self._running, set()
            for other in rest:
                self._simulation.hold(other)
            text = ended.text or "the controller gave up"
            self._end(replace(motion, status=Status.ABORTED, code=CONTROL_FAILED, text=text))
        elif not self._running:
            self._end(motion)

    def _end(self, motion: Motion) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(motion)


def _by_controller(trajectory: Trajectory) -> dict[str, Trajectory]:
    """What each controller has to follow."""
    parts: dict[str, Trajectory] = {}
    for name, joints in CONTROLLERS.items():
        places = [i for i, joint in enumerate(trajectory.joints) if joint in joints]
        if places:
            speeds = trajectory.velocities
            parts[name] = Trajectory(
                tuple(np.array(trajectory.joints)[places].tolist()),
                trajectory.times_s,
                trajectory.positions[:, places],
                None if speeds is None else speeds[:, places],
            )
    return parts
