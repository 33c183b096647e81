"""An action server whose goals go on until their owner says how they ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.node import Node
from rclpy.service_introspection import ServiceIntrospectionState
from service_msgs.msg import ServiceEventInfo

from planner.ros import qos
from planner.ros.action_ends import ActionEnds
from planner.ros.presence import Peers

# The report of a request may come after the goal has ended, and then nobody takes it back.
SENDERS_KEPT = 64

Goal: TypeAlias = ServerGoalHandle[Any, Any, Any]


class GoalServer(ActionServer[Any, Any, Any]):
    """Hands accepted goals on at once and keeps them executing until `conclude`.

    rclpy runs a goal inside a callback, which would hold up a single-threaded
    executor, or as a coroutine that it asks anew in a busy loop. Here a goal is
    only remembered, and its callback runs when the result is there.

    Every goal is accepted: what is wrong with one is told by its result's code and text.

    rclpy does not tell who sent a goal. Service introspection does: it reports each request on a
    topic, with the goal's id and the sender's GUID.
    """

    def __init__(
        self,
        node: Node,
        action: Any,
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
        self._ends = ActionEnds(node, name)
        self._senders: dict[bytes, Peers] = {}
        self._open: set[bytes] = set()
        self.configure_introspection(
            node.get_clock(), qos.EVENTS, ServiceIntrospectionState.CONTENTS
        )
        self._requests = node.create_subscription(
            action.Impl.SendGoalService.Event,
            f"{name}/_action/send_goal/_service_event",
            self._note_sender,
            qos.EVENTS,
        )

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

        self._open.discard(bytes(goal.goal_id.uuid))
        self._senders.pop(bytes(goal.goal_id.uuid), None)
        super().notify_execute(goal, end)

    def lost_client(self, goal: Goal) -> str:
        """Why the client that sent a goal counts as lost; "" when it does not."""
        sender = self._senders.get(bytes(goal.goal_id.uuid))
        return self._ends.no_client() if sender is None else self._ends.lost_client(sender)

    def destroy(self) -> None:
        """Takes the action out of the graph."""
        self._node.destroy_subscription(self._requests)
        super().destroy()

    def _note_sender(self, event: Any) -> None:
        if event.info.event_type == ServiceEventInfo.REQUEST_RECEIVED and event.request:
            sender = self._ends.client(bytes(event.info.client_gid))
            self._senders[bytes(event.request[0].goal_id.uuid)] = sender
            ended = [uuid for uuid in self._senders if uuid not in self._open]
            for uuid in ended[: max(0, len(ended) - SENDERS_KEPT)]:
                del self._senders[uuid]

    def _begin(self, goal: Goal) -> None:
        self._open.add(bytes(goal.goal_id.uuid))
        goal.execute()
        self._on_goal(goal)

    def _cancel(self, goal: Goal) -> CancelResponse:
        self._on_cancel(goal)
        return CancelResponse.ACCEPT


def _never(_goal: Goal) -> Any:
    raise RuntimeError("a goal is ended by GoalServer.conclude only")
