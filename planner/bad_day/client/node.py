"""A client that sends the robot one goal after the other, as skills do, and logs the results.

    python planner/bad_day/client/node.py NAME SEED TIMEOUT_S X,Y ...

Points are positions on the map to go to. It prints requests and results as `records` has them.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

import rclpy
from planner_msgs.action import ExecutePrimitive
from rclpy.action.client import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from planner.bad_day.permission import GAVE_UP, Request, ended
from planner.network import confine
from planner.ros.clients import why_no_result
from planner.ros.heartbeat import HeartbeatPublisher, safety_topic

AGENT = "agent_0"
# After this time the client gives up on a goal.
RESULT_TIMEOUT_S = 15.0
_PAUSE_S = 1.0


class Client(Node):
    """Sends one goal at a time, forever."""

    def __init__(
        self, name: str, seed: int, timeout_s: float, places: Sequence[tuple[float, float]]
    ) -> None:
        super().__init__(name)
        self._timeout_s = timeout_s
        self._chance = random.Random(seed)
        self._places = places
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            self, ExecutePrimitive, f"/{AGENT}/primitive"
        )
        self._request: Request | None = None
        self._count = 0
        self._rests_until_s = 0.0
        self._handle: Any = None
        self._heartbeat = HeartbeatPublisher(self)
        self._heartbeat.attend([AGENT])
        # Set when asked to end: it then cancels its goal and waits for the result.
        self.leaves = False
        self.create_timer(0.05, self._go_on)

    @property
    def waits(self) -> bool:
        """Whether a goal has no outcome yet."""
        return self._request is not None

    def _go_on(self) -> None:
        now_s = time.time()
        request = self._request
        if request is not None:
            if now_s - request.sent_s > RESULT_TIMEOUT_S:
                self._end(request, GAVE_UP, success=False)
            elif self.leaves and self._handle is not None:
                self._handle.cancel_goal_async()
                self._handle = None
            return
        if self.leaves:
            return
        heard = self.count_subscribers(safety_topic(AGENT)) > 0
        if now_s < self._rests_until_s or not (heard and self._client.server_is_ready()):
            return
        # The agent must be attended before a goal arrives.
        self._heartbeat.send_now()
        goal = self._goal()
        self._count += 1
        request = Request(self.get_name(), self._count, "goal", goal.name, now_s)
        self._request = request
        print(request.log_line(), flush=True)
        self._client.send_goal_async(goal).add_done_callback(
            lambda sent: self._on_accepted(request, sent.result())
        )

    def destroy_node(self) -> None:
        """Ends the heartbeat with a goodbye."""
        self._heartbeat.destroy()
        super().destroy_node()

    def _on_accepted(self, request: Request, handle: Any) -> None:
        if not handle.accepted:
            self._end(request, "not accepted", success=False)
            return
        self._handle = handle
        handle.get_result_async().add_done_callback(
            lambda done: self._on_result(request, done.result())
        )

    def _on_result(self, request: Request, response: Any) -> None:
        reason = why_no_result(response)
        if reason:
            self._end(request, f"no result: {reason}", success=False)
        else:
            result = response.result
            self._end(request, f"{result.code} {result.text}", success=result.code == 0)

    def _end(self, request: Request, outcome: str, *, success: bool) -> None:
        if self._request is not request:
            return
        self._request = self._handle = None
        # Pause after a failure, so that new motion does not hide leftover motion.
        self._rests_until_s = time.time() + (0.0 if success else _PAUSE_S)
        print(ended(request, time.time(), outcome, success=success).log_line(), flush=True)

    def _goal(self) -> ExecutePrimitive.Goal:
        goal = ExecutePrimitive.Goal()
        goal.heading_rad = goal.standoff_m = math.nan
        goal.timeout_s = self._timeout_s
        goal.target.header.frame_id = "map"
        if self._chance.random() < 0.75:
            goal.name = "navigate"
            x, y = self._chance.choice(self._places)
            goal.target.point.x, goal.target.point.y, goal.target.point.z = x, y, 0.3
        else:
            goal.name = "look"
            goal.pan_rad = [self._chance.uniform(-1.5, 1.5) for _ in range(3)]
            goal.tilt_rad = [self._chance.uniform(0.0, 0.6) for _ in range(3)]
        return goal


def main(words: Sequence[str]) -> int:
    """Runs until it is asked to end and its goal has an outcome."""
    name, seed, timeout_s, *places = words
    confine(os.environ)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    pairs = [tuple(float(part) for part in place.split(",")) for place in places]
    node = Client(name, int(seed), float(timeout_s), [(x, y) for x, y in pairs])

    def leave(_number: int, _frame: object) -> None:
        node.leaves = True

    signal.signal(signal.SIGTERM, leave)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not node.leaves or node.waits:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
