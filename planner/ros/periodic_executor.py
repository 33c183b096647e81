"""An executor whose nodes decide how long it may wait for a message."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor, TimeoutObject


@runtime_checkable
class PeriodicNode(Protocol):
    """A node that has something to do now and then."""

    def run_due(self) -> float:
        """Does what is due; returns the seconds until more is due."""


class PeriodicExecutor(SingleThreadedExecutor):
    """Lets its nodes' `run_due` decide how long a message is waited for."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        # One object for all waits. To rclpy another timeout is another search for what is ready,
        # and each search begins with the callbacks that still wait for their end: with a number
        # that differs every time nothing else was ever heard while a service waited.
        self._timeout = TimeoutObject(0.0)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Makes what is due, then waits for one message until more is due."""
        waits = [node.run_due() for node in self.get_nodes() if isinstance(node, PeriodicNode)]
        waits += [] if timeout_sec is None else [timeout_sec]
        self._timeout.timeout = min(waits, default=-1.0)
        self._spin_once_impl(self._timeout)
