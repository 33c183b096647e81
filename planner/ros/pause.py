"""Sleeping in a coroutine of an executor."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.task import Future

from planner.ros.waiting import wall_clock


async def pause(node: Node, seconds: float) -> None:
    """Sleeps without blocking the executor; wall seconds."""
    over: Future[None] = Future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    timer = node.create_timer(seconds, end, clock=wall_clock())
    await over
    node.destroy_timer(timer)
