"""The watchdog of a robot with Nav2 and MoveIt: cancels all its goals when the bridge falls silent.

Run by the bridge: python -m sim_bridge.ros.dead_man.node SETTINGS, with one byte on its standard
input each time that the bridge is alive.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import Any

import rclpy
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Twist, TwistStamped
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from planner.ros.guard import GuardedExecutor
from sim_bridge.ros.dead_man.process import GOODBYE, MOVES
from sim_bridge.ros.options import ArmMethod, RosOptions

SILENT_S = 0.7
STOPS_S, HZ = 2.0, 20.0


class Watchdog:
    """Cancels whatever Nav2, MoveIt and the controllers do, and commands zero velocity."""

    def __init__(self, options: RosOptions) -> None:
        self._node: Any = rclpy.create_node("bridge_dead_man", use_global_arguments=False)
        # Nothing that others send may end a stop.
        self._executor = GuardedExecutor()
        self._executor.add_node(self._node)
        self._options = options
        nav, arm = options.navigation, options.arm
        moves = [nav.navigate, *(each.action for each in options.controllers)]
        if arm.method is ArmMethod.MOVEIT:
            moves.append(arm.move_action)
        self._cancels: list[Any] = [
            self._node.create_client(CancelGoal, f"{name}/_action/cancel_goal") for name in moves
        ]
        kind = TwistStamped if nav.stamped else Twist
        self._velocity = self._node.create_publisher(kind, nav.velocity, 1)
        self._zero = kind()
        self._events = self._node.create_publisher(String, arm.event, 1) if arm.event else None

    def stop(self) -> None:
        """Stops everything, for as long as a controller may take to hear of it."""
        print("the bridge fell silent while the robot moved: its goals are canceled", flush=True)
        until_s = time.monotonic() + STOPS_S
        # A server that is not known yet, as after a start on a slow network, may be any moment.
        untold = list(self._cancels)
        if self._events is not None:
            self._events.publish(String(data="stop"))
        while time.monotonic() < until_s:
            for each in [client for client in untold if client.service_is_ready()]:
                # No goal id and no time: all goals (action_msgs/CancelGoal).
                each.call_async(CancelGoal.Request())
                untold.remove(each)
            if self._options.navigation.stamped:
                self._zero.header.stamp = self._node.get_clock().now().to_msg()
                self._zero.header.frame_id = self._options.frames.base
            self._velocity.publish(self._zero)
            self._executor.spin_once(timeout_sec=1.0 / HZ)


def watch(options: RosOptions) -> None:
    """Reads the bridge's bytes until it is closed or gone."""
    watchdog, heard_s, moves = Watchdog(options), time.monotonic(), False
    pipe = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([pipe], [], [], 0.05)
        if ready:
            words = os.read(pipe, 4096)
            if GOODBYE in words:
                return
            if not words:
                if moves:
                    watchdog.stop()
                return
            heard_s, moves = time.monotonic(), words.endswith(MOVES)
        elif moves and time.monotonic() - heard_s > SILENT_S:
            watchdog.stop()
            moves = False


def main() -> int:
    """Runs the watchdog; returns the process's exit status."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        watch(RosOptions.model_validate_json(sys.argv[1]))
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
