"""Waiting: what a node still waits for, sleeping in coroutines, and for messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.context import Context
from rclpy.executors import TimeoutObject
from rclpy.node import Node
from rclpy.task import Future

from planner.ros.guard import GuardedExecutor

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


# Sleeping in a coroutine of an executor.


async def pause(node: Node, seconds: float, unless: Future[Any] | None = None) -> None:
    """Sleeps without blocking the executor; wall seconds.

    Args:
        node: whose executor runs the coroutine.
        seconds: for how long.
        unless: ends the sleep once it is done.
    """
    over: Future[None] = Future()

    def end(_done: object = None) -> None:
        if not over.done():
            over.set_result(None)

    timer = node.create_timer(seconds, end, clock=wall_clock())
    if unless is not None:
        unless.add_done_callback(end)
    await over
    if unless is not None:
        # It may outlive many sleeps.
        unless.remove_done_callback(end)
    node.destroy_timer(timer)


# An executor that lets its nodes limit how long it waits for a message.


@runtime_checkable
class PeriodicNode(Protocol):
    """A node with work that is due at certain times."""

    def run_due(self) -> float:
        """Does the work that is due; returns the seconds until more is due."""


class PeriodicExecutor(GuardedExecutor):
    """Calls `run_due` of its nodes and waits at most as long as they allow.

    What `run_due` raises ends the node: a bridge whose world does not advance, or that follows no
    order any more, is better gone.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        # One object for all waits: rclpy starts a new search for ready callbacks for each new
        # timeout value, beginning with pending coroutines, which would starve everything else.
        self._timeout = TimeoutObject(0.0)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Runs what is due, then waits for one message until more is due."""
        waits = [node.run_due() for node in self.get_nodes() if isinstance(node, PeriodicNode)]
        waits += [] if timeout_sec is None else [timeout_sec]
        self._timeout.timeout = min(waits, default=-1.0)
        self._spin_once_impl(self._timeout)
