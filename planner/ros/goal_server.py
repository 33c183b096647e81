"""An action server whose goals go on until their owner says how they ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.node import Node

Goal: TypeAlias = ServerGoalHandle[Any, Any, Any]


class GoalServer(ActionServer[Any, Any, Any]):
    """Hands accepted goals on at once and keeps them executing until `conclude`.

    rclpy runs a goal inside a callback, which would hold up a single-threaded
    executor, or as a coroutine that it asks anew in a busy loop. Here a goal is
    only remembered, and its callback runs when the result is there.

    Every goal is accepted: what is wrong with one is told by its result's code and text.
    """

    def __init__(
        self,
        node: Node,
        action: type,
        name: str,
        *,
        on_goal: Callable[[Goal], None],
        on_cancel: Callable[[Goal], None],
    ) -> None:
        """Serves the action `name`."""
        super().__init__(
            node,
            action,
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
        """Lets only `conclude` run a goal's callback; see the class."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def conclude(self, goal: Goal, result: Any, *, succeeded: bool, canceled: bool) -> None:
        """Ends a goal; its client gets the result message.

        Args:
            goal: the goal.
            result: message of the action's result type.
            succeeded: whether what was asked was done.
            canceled: whether it ended because its client canceled it.
        """

        def end(handle: Goal) -> Any:
            if succeeded:
                handle.succeed()
            elif canceled and handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        super().notify_execute(goal, end)

    def _begin(self, goal: Goal) -> None:
        goal.execute()
        self._on_goal(goal)

    def _cancel(self, goal: Goal) -> CancelResponse:
        self._on_cancel(goal)
        return CancelResponse.ACCEPT


def _never(_goal: Goal) -> Any:
    raise RuntimeError("a goal is ended by GoalServer.conclude only")
