"""An executor that lets its nodes limit how long it waits for a message."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rclpy.context import Context
from rclpy.executors import TimeoutObject

from planner.ros.guard import GuardedExecutor


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
