"""The operator's service calls, and an independent observer of the simulator's ground truth."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import rclpy
from nav_msgs.msg import Odometry
from planner_msgs.msg import WorldState as WorldMessage
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from planner.bad_day.permission import Motion, Request, WorldTime, ended
from planner.network import confine
from planner.ros import qos
from planner.world import topics
from planner.world.state import UpdateDecoder
from planner.world.vocabulary import EntityKind
from planner.world.wire import state_update

# The operator's calls of Trigger services, with the time each answer took.

AGENT = "agent_0"
_POLL_S = 0.02


class _InDomain:
    """A node in its own thread, in a ROS domain that need not be this process's."""

    def __init__(self, name: str, domain: int) -> None:
        self._context = Context()
        confine(os.environ)
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node(f"bad_day_{name}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._thread = threading.Thread(target=self._spin, name=name, daemon=True)

    def _start(self) -> None:
        """Hears from now on, once what hears is there."""
        self._executor.add_node(self._node)
        self._thread.start()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def close(self) -> None:
        """Leaves the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(2.0)
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


class Operator(_InDomain):
    """Calls services."""

    def __init__(self, domain: int) -> None:
        super().__init__("operator", domain)
        self._clients: dict[str, Any] = {}
        self._records: dict[int, Request] = {}
        self._numbers = itertools.count()
        self._start()

    def prepare(self, *names: str) -> None:
        """Creates service clients ahead of use, so that discovery is done by then."""
        for name in names:
            if name not in self._clients:
                self._clients[name] = self._node.create_client(Trigger, f"/{AGENT}/{name}")

    def reaches(self, name: str, seconds: float) -> bool:
        """Whether a service becomes available within the timeout."""
        self.prepare(name)
        return bool(self._clients[name].wait_for_service(timeout_sec=seconds))

    def call(self, name: str) -> int:
        """Calls a service without waiting; returns the number of the call."""
        self.prepare(name)
        number = next(self._numbers)
        request = Request("operator", number, "service", name, time.time())
        self._records[number] = request
        self._clients[name].call_async(Trigger.Request()).add_done_callback(
            lambda done: self._on_answer(request, done.result())
        )
        return number

    def _on_answer(self, request: Request, answer: Any) -> None:
        self._records[request.number] = ended(
            request, time.time(), answer.message, success=answer.success
        )

    def wait(self, number: int, seconds: float) -> Request:
        """A call, with its answer if that came within the timeout."""
        until_s = time.monotonic() + seconds
        while self._records[number].ended_s is None and time.monotonic() < until_s:
            time.sleep(_POLL_S)
        return self._records[number]

    @property
    def records(self) -> list[Request]:
        """All calls so far."""
        return list(self._records.values())


_STILL_M, _STILL_RAD = 1e-3, 1e-3
_MAX_STEP_S = 0.2
# None of a robot's messages may be missed while this process gets no CPU time.
_EVERY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


class Watcher(_InDomain):
    """A node in its own thread; times are simulated, or read from `clock` on receipt."""

    def __init__(self, domain: int, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        super().__init__("watcher", domain)
        self._updates = UpdateDecoder()
        self._node.create_subscription(
            WorldMessage, "/world/state", self._on_state, qos.TRUTH_INPUT
        )
        self._node.create_subscription(Clock, topics.CLOCK, self._on_clock, qos.CLOCK)
        self._places: dict[str, tuple[float, float, float]] = {}
        # Both, since a world at rest sends no states.
        self.now_s = self._stamp_s = self.clock_s = 0.0
        self._time = WorldTime()
        self.heard = 0
        # By agent.
        self.moving: dict[str, list[Motion]] = {}
        self._start()

    def _on_clock(self, message: Clock) -> None:
        self.clock_s = self._time.of(message.clock.sec + message.clock.nanosec * 1e-9)

    def _on_state(self, message: WorldMessage) -> None:
        state = self._updates.decode(state_update(message))
        if state is None:
            return
        if state.stamp_s < self._stamp_s:
            # Another episode, or a restarted bridge.
            self._places.clear()
        self._stamp_s = state.stamp_s
        at_s = self._time.of(state.stamp_s) if self._clock is None else self._clock()
        self.heard += 1
        for entity in state.entities.values():
            if entity.kind is EntityKind.AGENT:
                x, y, _ = entity.pose.position_m
                self._place(entity.name, (x, y, entity.pose.yaw_rad), at_s)
        self.now_s = at_s

    def _place(self, agent: str, place: tuple[float, float, float], at_s: float) -> None:
        before = self._places.get(agent)
        self._places[agent] = place
        if before is None:
            return
        metres = math.dist(place[:2], before[:2])
        turned = abs(math.remainder(place[2] - before[2], math.tau)) > _STILL_RAD
        if metres > _STILL_M or turned:
            # A simulator that was suspended in between did not move all the time.
            begins_s = max(self.now_s, at_s - _MAX_STEP_S)
            step = Motion(begins_s, at_s, metres, True)
            self.moving.setdefault(agent, []).append(step)


class RobotWatcher(_InDomain):
    """Listens to a robot in a thread of its own, and kills its servers.

    Times are the robot's stamps: wall-clock time, as the emulated robot runs on this machine.
    """

    def __init__(self, domain: int, servers: Sequence[str]) -> None:
        super().__init__("watcher", domain)
        self._node.create_subscription(Odometry, "/odom", self._on_odometry, _EVERY)
        self._node.create_subscription(JointState, "/joint_states", self._on_joints, _EVERY)
        self._servers: dict[str, Any] = {
            name: self._node.create_client(SetBool, f"/emulator/{name}") for name in servers
        }
        self._base: tuple[float, tuple[float, float, float]] | None = None
        self._arm: tuple[float, dict[str, float]] | None = None
        # In the order of receipt.
        self.moving: list[Motion] = []
        # The longest time between two stamps of its odometry: no motion of the base is seen in it.
        self.longest_gap_s = 0.0
        self._start()

    @property
    def hears(self) -> bool:
        """Whether the robot is there with all its servers."""
        found = all(client.service_is_ready() for client in self._servers.values())
        return found and self._base is not None and self._arm is not None

    def set_server(self, name: str, *, runs: bool) -> None:
        """Kills a server of the robot or starts it again; does nothing if that is so already."""
        self._servers[name].call_async(SetBool.Request(data=runs))

    def _on_odometry(self, message: Odometry) -> None:
        pose, turn = message.pose.pose.position, message.pose.pose.orientation
        yaw_rad = 2.0 * math.atan2(turn.z, turn.w)
        at_s, place = _seconds(message.header.stamp), (pose.x, pose.y, yaw_rad)
        before, self._base = self._base, (at_s, place)
        if before is None:
            return
        self.longest_gap_s = max(self.longest_gap_s, at_s - before[0])
        metres = math.dist(place[:2], before[1][:2])
        turned = abs(math.remainder(yaw_rad - before[1][2], math.tau)) > _STILL_RAD
        if metres > _STILL_M or turned:
            self.moving.append(Motion(before[0], at_s, metres, True))

    def _on_joints(self, message: JointState) -> None:
        at_s = _seconds(message.header.stamp)
        joints = dict(zip(message.name, message.position, strict=True))
        before, self._arm = self._arm, (at_s, joints)
        if before is None:
            return
        if any(abs(joints[name] - was) > _STILL_RAD for name, was in before[1].items()):
            self.moving.append(Motion(before[0], at_s, 0.0, False))


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + stamp.nanosec * 1e-9)
