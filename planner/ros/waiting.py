"""Logs what a node still waits for, so that a node started alone is not silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

# A node is up within about two seconds and has to log this within three of its start.
CHECK_PERIOD_S = 1.0


def wall_clock() -> Clock:
    """The steady clock, for timers that must run while simulated time is paused."""
    return Clock(clock_type=ClockType.STEADY_TIME)


class WaitingNotice:
    """Logs what is missing, once for each change, until nothing is."""

    def __init__(self, node: Node, missing: Callable[[], Sequence[str]]) -> None:
        """Starts checking every `CHECK_PERIOD_S`.

        Args:
            node: that waits.
            missing: returns what is not there yet, each with where it would come from.
        """
        self._node, self._missing = node, missing
        self._last_logged: tuple[str, ...] = ()
        self._timer = node.create_timer(CHECK_PERIOD_S, self._on_timer, clock=wall_clock())

    def _on_timer(self) -> None:
        missing = tuple(self._missing())
        if not missing:
            self._timer.cancel()
            if self._last_logged:
                self._node.get_logger().info("all inputs have arrived")
        elif missing != self._last_logged:
            self._node.get_logger().info(f"waiting for {', and '.join(missing)}")
        self._last_logged = missing
