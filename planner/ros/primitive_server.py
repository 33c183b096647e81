"""The action server of one agent's primitives, which end when the world says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from planner_msgs.action import ExecutePrimitive
from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.node import Node

from planner.ros.conversions import stamped_pose
from planner.ros.primitive_messages import result_message
from planner.world.geometry import Pose
from planner.world.primitive import PrimitiveCode, PrimitiveResult

Goal: TypeAlias = ServerGoalHandle[Any, Any, Any]


class PrimitiveServer(ActionServer[Any, Any, Any]):
    """Hands accepted goals on at once and keeps them executing until `finish`.

    rclpy runs a goal inside a callback, which would hold up a single-threaded
    executor, or as a coroutine that it asks anew in a busy loop. Here a goal is
    only remembered, and its callback runs when the result is there.

    Every goal is accepted: what is wrong with one is told by its result's code and text.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        *,
        on_goal: Callable[[Goal], None],
        on_cancel: Callable[[Goal], None],
    ) -> None:
        """Serves the action `name`."""
        super().__init__(
            node,
            ExecutePrimitive,
            name,
            execute_callback=_never,
            handle_accepted_callback=self._begin,
            cancel_callback=self._cancel,
        )
        self._on_goal = on_goal
        self._on_cancel = on_cancel

    def notify_execute(
        self, goal_handle: Goal, execute_callback: Callable[..., Any] | None
    ) -> None:
        """Lets only `finish` run a goal's callback; see the class."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def feedback(self, goal: Goal, phase: str, progress: float, stamp_s: float, base: Pose) -> None:
        """Tells a goal's client how it stands; `base` is in `map`."""
        goal.publish_feedback(
            ExecutePrimitive.Feedback(
                phase=phase, progress=progress, pose=stamped_pose(stamp_s, "map", base)
            )
        )

    def finish(self, goal: Goal, result: PrimitiveResult) -> None:
        """Ends a goal; its client gets the result."""

        def conclude(handle: Goal) -> ExecutePrimitive.Result:
            if result.succeeded:
                handle.succeed()
            elif result.code is PrimitiveCode.CANCELED and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result_message(result)

        super().notify_execute(goal, conclude)

    def _begin(self, goal: Goal) -> None:
        goal.execute()
        self._on_goal(goal)

    def _cancel(self, goal: Goal) -> CancelResponse:
        self._on_cancel(goal)
        return CancelResponse.ACCEPT


def _never(_goal: Goal) -> ExecutePrimitive.Result:
    raise RuntimeError("a primitive's goal is ended by PrimitiveServer.finish only")
