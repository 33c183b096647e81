"""Sends a goal and awaits its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.action.client import ActionClient

from planner.world.errors import PlannerError


async def run_goal(
    client: ActionClient[Any, Any, Any], goal: Any, feedback: Callable[[Any], None] | None = None
) -> Any:
    """Sends a goal and returns its result message; awaited inside a callback of the executor.

    Raises:
        PlannerError: if the server rejects the goal.
    """
    handle = await client.send_goal_async(goal, feedback_callback=feedback)
    if handle is None or not handle.accepted:
        raise PlannerError("the action server refused the goal")
    answer = await handle.get_result_async()
    if answer is None:
        raise PlannerError("the action server gave no result")
    return answer.result
