"""An action server whose goals run until their owner concludes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from action_msgs.msg import GoalStatus
from rclpy.action.server import ActionServer, CancelResponse, ServerGoalHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service_introspection import ServiceIntrospectionState
from service_msgs.msg import ServiceEventInfo

from planner.ros import qos
from planner.ros.action_peers import ActionPeers
from planner.ros.guard import guard_of
from planner.ros.known_programs import Callers
from planner.ros.message_bounds import bounds_of
from planner.ros.presence import Peers
from planner.world.bounds import OutOfBounds

RCLError = rclpy_implementation.RCLError
# Introspection may report a request after its goal has ended, so old entries are dropped.
MAX_SENDERS = 64
# As rclpy does.
RESULT_LIFETIME_S = 10

Goal: TypeAlias = ServerGoalHandle[Any, Any, Any]


class GoalServer(ActionServer[Any, Any, Any]):
    """Passes accepted goals to `on_goal` and keeps them executing until `conclude`.

    rclpy runs a goal inside a callback, which would block a single-threaded executor, or as a
    coroutine that it polls in a busy loop. Here a goal is only stored, and its callback runs when
    the result is available.

    Every goal is accepted; errors are reported by the result's code and text. One out of the
    bounds of `planner.world.field_bounds` goes to `on_wrong` instead of `on_goal`.

    Sending a goal again under the same id, because no answer came, is safe: it gets the same
    answer and result; rclpy would refuse it. Another goal under a known id is refused.

    Results are kept for `result_lifetime_s`. A later request, or one to a restarted server, gets a
    result with `fault_code`: rclpy would answer with an empty one, whose code 0 reads as success.

    rclpy does not report who sent a goal. Service introspection does, by a topic with the goal's
    id and the sender's GUID.
    """

    def __init__(
        self,
        node: Node,
        action: Any,
        name: str,
        *,
        on_goal: Callable[[Goal], None],
        on_wrong: Callable[[Goal, OutOfBounds], None],
        on_cancel: Callable[[Goal], None],
        now_s: Callable[[], float],
        fault_code: int,
        result_lifetime_s: int = RESULT_LIFETIME_S,
    ) -> None:
        """Serves the action `name`.

        Args:
            node: that serves it.
            action: the action's class.
            name: the action's name, relative to the node's namespace.
            on_goal: gets each goal that is in bounds.
            on_wrong: gets each other goal, to conclude it, with the field and the reason.
            on_cancel: gets each goal whose client cancels it.
            now_s: clock of stamps in goals.
            fault_code: result code for unknown goals.
            result_lifetime_s: how long results are kept, seconds.

        Raises:
            UnboundedFieldError: if a field of the goal has no bound.
        """
        self._bounds = bounds_of(action.Goal)
        super().__init__(
            node,
            action,
            name,
            execute_callback=_never,
            handle_accepted_callback=self._begin,
            cancel_callback=self._cancel,
            goal_service_qos_profile=qos.REQUESTS,
            result_service_qos_profile=qos.REQUESTS,
            cancel_service_qos_profile=qos.REQUESTS,
            result_timeout=result_lifetime_s,
        )
        self._name, self._results_kept_s = name, result_lifetime_s
        self._on_goal, self._on_wrong, self._now_s = on_goal, on_wrong, now_s
        self._fault_code = fault_code
        self._on_cancel = on_cancel
        self._ends = ActionPeers(node, name)
        self._senders: dict[bytes, Peers] = {}
        self._open: set[bytes] = set()
        self.configure_introspection(
            node.get_clock(), qos.EVENTS, ServiceIntrospectionState.CONTENTS
        )
        self._callers = Callers(
            node, self, action.Impl.SendGoalService.Event, f"{name}/_action/send_goal"
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
            succeeded: whether the goal was achieved.
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
        """Why the client that sent a goal counts as lost; "" if it does not."""
        sender = self._senders.get(bytes(goal.goal_id.uuid))
        return self._ends.no_client() if sender is None else self._ends.lost_client(sender)

    def destroy(self) -> None:
        """Removes the action."""
        self._callers.destroy()
        self._node.destroy_subscription(self._requests)
        super().destroy()

    def _note_sender(self, event: Any) -> None:
        if event.info.event_type == ServiceEventInfo.REQUEST_RECEIVED and event.request:
            sender = self._ends.client(bytes(event.info.client_gid))
            self._senders[bytes(event.request[0].goal_id.uuid)] = sender
            ended = [uuid for uuid in self._senders if uuid not in self._open]
            for uuid in ended[: max(0, len(ended) - MAX_SENDERS)]:
                del self._senders[uuid]

    def _begin(self, goal: Goal) -> None:
        self._open.add(bytes(goal.goal_id.uuid))
        goal.execute()
        try:
            problem = self._bounds.problem(goal.request, self._now_s())
            if refusal := self._callers.refusal():
                self._on_wrong(goal, OutOfBounds("goal", refusal))
            elif problem is not None:
                self._on_wrong(goal, problem)
            else:
                self._on_goal(goal)
        except Exception as error:
            # A client would wait for its result for ever.
            guard_of(self._node).contain(error, f"a goal of {self._name}")
            if goal.is_active:
                text = f"the goal cannot be carried out: {type(error).__name__}: {error}"
                result = self.action_type.Result(code=self._fault_code, text=text)
                self.conclude(goal, result, succeeded=False, canceled=False)

    async def _execute_goal_request(self, request_header_and_message: Any) -> None:
        """Repeats the answer for a known goal."""
        request_header, request = request_header_and_message
        known = self._goal_handles.get(bytes(request.goal_id.uuid))
        if known is None or known.request != request.goal:
            await super()._execute_goal_request(request_header_and_message)
            return
        response = self.action_type.Impl.SendGoalService.Response()
        response.accepted, response.stamp = True, known._goal_info.stamp  # noqa: SLF001
        try:
            with self._lock:
                self._handle.send_goal_response(request_header, response)
        except RCLError:
            self._logger.warning("a goal's acceptance was not sent: its client is gone")
            return
        # rclpy does not start a goal whose first acceptance could not be sent.
        if known.status == GoalStatus.STATUS_ACCEPTED:
            self._begin(known)

    async def _execute_get_result_request(self, request_header_and_message: Any) -> None:
        """Answers for an unknown goal with `fault_code`."""
        request_header, request = request_header_and_message
        if bytes(request.goal_id.uuid) in self._goal_handles:
            await super()._execute_get_result_request(request_header_and_message)
            return
        response = self.action_type.Impl.GetResultService.Response()
        response.status = GoalStatus.STATUS_UNKNOWN
        response.result.code = self._fault_code
        response.result.text = (
            "this server knows no such goal: its result was kept for "
            f"{self._results_kept_s} s, or it was given to a server that has ended"
        )
        try:
            with self._lock:
                self._handle.send_result_response(request_header, response)
        except RCLError:
            self._logger.warning("a result was not sent: its client is gone")

    def _cancel(self, goal: Goal) -> CancelResponse:
        try:
            self._on_cancel(goal)
        except Exception as error:
            guard_of(self._node).contain(error, f"a cancellation of {self._name}")
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT


def _never(_goal: Goal) -> Any:
    raise RuntimeError("a goal is ended by GoalServer.conclude only")
