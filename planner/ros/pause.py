"""Sleeping in a coroutine of an executor."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.task import Future

from planner.ros.waiting import wall_clock


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
