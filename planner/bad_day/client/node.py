"""A client that gives the robot one goal after the other, as skills do, and says what came of each.

    python planner/bad_day/client/node.py NAME SEED X,Y ...

Points are places of the map to go to. What it asks and hears goes out as lines, see `records`.
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

from planner.bad_day.records import Asked, ended
from planner.network import confine
from planner.ros.goal_answers import why_no_result
from planner.ros.heartbeat import HeartbeatPublisher, safety_topic

AGENT = "agent_0"
# After so long a client gives a goal up by itself.
PATIENCE_S = 15.0
GOAL_TIMEOUT_S = 5.0
_PAUSE_S = 1.0


class Client(Node):
    """One goal at a time, for ever."""

    def __init__(self, name: str, seed: int, places: Sequence[tuple[float, float]]) -> None:
        super().__init__(name)
        self._chance = random.Random(seed)
        self._places = places
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            self, ExecutePrimitive, f"/{AGENT}/primitive"
        )
        self._asked: Asked | None = None
        self._count = 0
        self._rests_until_s = 0.0
        self._handle: Any = None
        self._heartbeat = HeartbeatPublisher(self)
        self._heartbeat.attend([AGENT])
        # Asked to end: it cancels what is under way and hears what became of it.
        self.leaves = False
        self.create_timer(0.05, self._go_on)

    @property
    def waits(self) -> bool:
        """Whether something has no outcome yet."""
        return self._asked is not None

    def _go_on(self) -> None:
        now_s = time.time()
        asked = self._asked
        if asked is not None:
            if now_s - asked.sent_s > PATIENCE_S:
                self._end(asked, "client gave up", success=False)
            elif self.leaves and self._handle is not None:
                self._handle.cancel_goal_async()
                self._handle = None
            return
        if self.leaves:
            return
        heard = self.count_subscribers(safety_topic(AGENT)) > 0
        if now_s < self._rests_until_s or not (heard and self._client.server_is_ready()):
            return
        # A goal finds the agent attended.
        self._heartbeat.beat()
        goal = self._goal()
        self._count += 1
        asked = Asked(self.get_name(), self._count, "goal", goal.name, now_s)
        self._asked = asked
        print(asked.line(), flush=True)
        self._client.send_goal_async(goal).add_done_callback(
            lambda sent: self._on_accepted(asked, sent.result())
        )

    def destroy_node(self) -> None:
        """Says goodbye."""
        self._heartbeat.destroy()
        super().destroy_node()

    def _on_accepted(self, asked: Asked, handle: Any) -> None:
        if not handle.accepted:
            self._end(asked, "not accepted", success=False)
            return
        self._handle = handle
        handle.get_result_async().add_done_callback(
            lambda done: self._on_result(asked, done.result())
        )

    def _on_result(self, asked: Asked, told: Any) -> None:
        reason = why_no_result(told)
        if reason:
            self._end(asked, f"no result: {reason}", success=False)
        else:
            result = told.result
            self._end(asked, f"{result.code} {result.text}", success=result.code == 0)

    def _end(self, asked: Asked, outcome: str, *, success: bool) -> None:
        if self._asked is not asked:
            return
        self._asked = self._handle = None
        # What was refused or ended is not asked again at once: motion would hide what is left over.
        self._rests_until_s = time.time() + (0.0 if success else _PAUSE_S)
        print(ended(asked, time.time(), outcome, success=success).line(), flush=True)

    def _goal(self) -> ExecutePrimitive.Goal:
        goal = ExecutePrimitive.Goal()
        goal.heading_rad = goal.standoff_m = math.nan
        goal.timeout_s = GOAL_TIMEOUT_S
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
    """Runs until it is asked to end, and then until what is under way has an outcome."""
    name, seed, *places = words
    confine(os.environ)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    pairs = [tuple(float(part) for part in place.split(",")) for place in places]
    node = Client(name, int(seed), [(x, y) for x, y in pairs])

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
