"""What a node still waits for, said in its log: a node that is started alone is not silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

# A node is up within two seconds or so, and shall say it within three of its start.
LOOK_S = 1.0


def wall_clock() -> Clock:
    """The clock of timers that go on while simulated time stands still."""
    return Clock(clock_type=ClockType.STEADY_TIME)


class WaitingNotice:
    """Logs what is missing, from `LOOK_S` after the start until nothing is; each change once."""

    def __init__(self, node: Node, missing: Callable[[], Sequence[str]]) -> None:
        """Begins to look.

        Args:
            node: that waits.
            missing: returns what is not there yet, each with where it would come from.
        """
        self._node, self._missing = node, missing
        self._told: tuple[str, ...] = ()
        self._timer = node.create_timer(LOOK_S, self._look, clock=wall_clock())

    def _look(self) -> None:
        missing = tuple(self._missing())
        if not missing:
            self._timer.cancel()
            if self._told:
                self._node.get_logger().info("everything that was waited for is there")
        elif missing != self._told:
            self._node.get_logger().info(f"waiting for {', and '.join(missing)}")
        self._told = missing
