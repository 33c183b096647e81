"""One goal of MoveGroup at a time: it is planned in a thread of its own and then carried out."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from planner.world.geometry import FloatArray
from sim_bridge.ros.emulator.joint_control import Ended, GoalError, Status, Trajectory
from sim_bridge.ros.emulator.motion_planning import (
    CONTROL_FAILED,
    PREEMPTED,
    SUCCESS,
    MotionPlanner,
    MotionRequest,
)
from sim_bridge.ros.emulator.pictures import StillScene, Touch
from sim_bridge.ros.emulator.simulation import CONTROLLERS, Simulation

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
