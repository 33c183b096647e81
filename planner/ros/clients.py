"""Clients of services and actions in coroutines, waiting, and who may command robots."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action.client import ActionClient
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.context import Context
from rclpy.executors import TimeoutObject
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from service_msgs.msg import ServiceEventInfo
from std_msgs.msg import Empty

from planner.network import TOKEN, confine, token_of
from planner.ros import qos
from planner.ros.guard import GuardedExecutor
from planner.ros.subscriptions import PolledGroup, PolledSubscription
from planner.security.policy import OPERATOR, join_as
from planner.world.errors import PlannerError
from planner.world.topics import NAMESPACE_REMAPPINGS

# Waiting: what a node still waits for, sleeping in coroutines, and for messages.

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


_ENDED = {
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_CANCELED: "canceled",
    GoalStatus.STATUS_ABORTED: "aborted",
}


def why_no_result(answer: Any) -> str:
    """Why an answer is not a result; empty if it is one.

    A default-constructed result has code 0, which means success; a server that does not know the
    goal, or whose goal crashed, sends such a one.

    Args:
        answer: of the action's get_result service; None if there was none.
    """
    if answer is None:
        return "no result came"
    if answer.status not in _ENDED:
        return answer.result.text or "the server knows no such goal (any more)"
    if answer.result.code == 0 and answer.status != GoalStatus.STATUS_SUCCEEDED:
        return f"the goal was {_ENDED[answer.status]} without a result"
    return ""


# Sends a goal and awaits its result.


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


# An action client that is created anew while it finds no server.
#
# On a busy machine the middleware may leave endpoints unmatched that were announced while a process
# started: the client then finds no server for good, although one is there.

# Wall seconds without a server after which the client is created anew.
REMATCH_PERIOD_S = 5.0


class MatchedClient:
    """Sends goals to one action; used in the executor's thread."""

    def __init__(
        self, node: Node, action: Any, name: str, period_s: float = REMATCH_PERIOD_S
    ) -> None:
        """Creates the client.

        Args:
            node: its node.
            action: the action's type.
            name: the action's name.
            period_s: wall seconds without a server after which the client is created anew.
        """
        self._node, self._action, self._name = node, action, name
        self._period_s = period_s
        self._client = self._new()
        # Since when no server is found; None while one is.
        self._missing_s: float | None = None

    def is_ready(self) -> bool:
        """Whether a server is found; to be asked again and again while one is waited for."""
        if self._client.server_is_ready():
            self._missing_s = None
            return True
        wall_s = time.monotonic()
        if self._missing_s is None:
            self._missing_s = wall_s
        elif wall_s - self._missing_s > self._period_s:
            self._missing_s = wall_s
            self._client.destroy()
            self._client = self._new()
        return False

    def send(self, goal: Any, **more: Any) -> Any:
        """Sends a goal, as `ActionClient.send_goal_async`."""
        return self._client.send_goal_async(goal, **more)

    def destroy(self) -> None:
        """Takes the client out of the graph."""
        self._client.destroy()

    def _new(self) -> ActionClient[Any, Any, Any]:
        return ActionClient(self._node, self._action, self._name)


# One call of a service in a coroutine of an executor.

_POLL_S = 0.05


class ServiceCall:
    """A call that is sent once its server is discovered; the client is there from now on."""

    def __init__(self, node: Node, kind: Any, name: str, request: object) -> None:
        """Creates the client.

        Args:
            node: in whose executor `end` runs.
            kind: of the service.
            name: of the service.
            request: of that kind.
        """
        self._node, self._name, self._request = node, name, request
        self._client: Any = node.create_client(kind, name)

    async def end(self, wait_s: float) -> Any:
        """The answer; wall seconds. The client is gone then.

        Raises:
            PlannerError: if there is none in time.
        """
        ends_s = time.monotonic() + wait_s
        try:
            while not self._client.service_is_ready():
                if time.monotonic() > ends_s:
                    raise PlannerError(f"nobody serves {self._name}; is the stack running?")
                await pause(self._node, _POLL_S)
            answer = self._client.call_async(self._request)
            while not answer.done():
                if time.monotonic() > ends_s:
                    raise PlannerError(f"{self._name} did not answer within {wait_s:g} s")
                await pause(self._node, _POLL_S)
            return answer.result()
        finally:
            self._node.destroy_client(self._client)


# Who may command robots on an open network without SROS 2: programs that have its token.
#
# Each program shows a proof that is of no use to others: a topic named after the token and the GUID
# of its participant. ROS does not report who calls a service; service introspection does.

# Endpoints of one participant share this prefix of their GUIDs.
_PARTICIPANT = slice(0, 12)
_PROFILE = QoSProfile(depth=1)


def prove(node: Node) -> None:
    """Shows that this process has the token, where one is needed; to be called before its clients.

    Raises:
        PlannerError: without a token that can be used.
    """
    if token := token_of(os.environ):
        node.create_publisher(Empty, _proof(token, _own(node)), _PROFILE)


class Callers:
    """Tells whether the program that has just called a service has the token.

    Only for executors of one thread, which call a service's callback as soon as they have taken the
    request: the newest event is the one of that request.
    """

    def __init__(self, node: Node, server: Any, event: Any, service: str) -> None:
        """Does nothing where no token is needed.

        Args:
            node: that serves.
            server: the service, or the action server whose goals are requested by it.
            event: the service's type of introspection events.
            service: its name, relative to the node's namespace.

        Raises:
            PlannerError: without a token that can be used.
        """
        self._node, self._event = node, event
        self._token = token_of(os.environ)
        self._events: PolledSubscription | None = None
        if not self._token:
            return
        self._own = _own(node)
        server.configure_introspection(
            node.get_clock(), qos.EVENTS, ServiceIntrospectionState.CONTENTS
        )
        self._events = PolledSubscription(
            node, event, f"{service}/_service_event", qos.EVENTS, PolledGroup(), None
        )

    def refusal(self) -> str:
        """Why the call that is being answered is refused; "" = it is not. Once for each call."""
        if self._events is None:
            return ""
        caller = None
        while (found := self._events.take()) is not None:
            info = deserialize_message(found.data, self._event).info
            # Events of others are not ours, whatever they say.
            is_ours = bytes(found.publisher)[_PARTICIPANT] == self._own
            if is_ours and info.event_type == ServiceEventInfo.REQUEST_RECEIVED:
                caller = bytes(info.client_gid)[_PARTICIPANT]
        if caller is not None and _is_shown(self._node, self._token, caller):
            return ""
        return (
            f"the network is open, and this program has not shown its token: set {TOKEN} to that "
            "of the robot's programs (docs/setup.md)"
        )

    def destroy(self) -> None:
        """Ends listening."""
        if self._events is not None:
            self._events.destroy()


def _proof(token: str, participant: bytes) -> str:
    shown = hmac.new(token.encode(), participant, hashlib.sha256).hexdigest()
    return f"/planner/known/has_{shown}"


def _is_shown(node: Node, token: str, participant: bytes) -> bool:
    shown = node.get_publishers_info_by_topic(_proof(token, participant))
    return any(bytes(each.endpoint_gid)[_PARTICIPANT] == participant for each in shown)


def _own(node: Node) -> bytes:
    """The GUID of this process's participant, which rclpy tells only of publishers."""
    topic = f"/planner/known/of_{uuid.uuid4().hex}"
    publisher = node.create_publisher(Empty, topic, _PROFILE)
    try:
        (own,) = node.get_publishers_info_by_topic(topic)
        return bytes(own.endpoint_gid)[_PARTICIPANT]
    finally:
        node.destroy_publisher(publisher)


# Nodes of commands that talk to a running stack.


def client_node(name: str, namespace: str) -> Node:
    """A node in a stack's namespace, with that stack's clock and frames.

    Args:
        name: of the node.
        namespace: full name of the namespace; "" or `/` = none.

    Raises:
        PlannerError: if the network is open and there is no token (`planner.network.token_of`).
    """
    words = [word for pair in NAMESPACE_REMAPPINGS for word in ("-r", ":=".join(pair))]
    node = rclpy.create_node(name, namespace=namespace, cli_args=["--ros-args", *words])
    prove(node)
    return node


def start_as_operator(namespace: str) -> None:
    """Starts ROS in a process that commands a stack.

    Signals stay Python's: what follows Ctrl-C, such as a cancel or a goodbye, needs a running ROS.

    Raises:
        PlannerError: if keys do not allow the namespace.
    """
    confine(os.environ)
    join_as(os.environ, OPERATOR, namespace)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)


@contextmanager
def operator_node(name: str, namespace: str) -> Iterator[tuple[Node, GuardedExecutor]]:
    """The node of a command of that name, with its executor, for as long as the block lasts.

    Raises:
        PlannerError: as `start_as_operator` and `client_node` do.
    """
    start_as_operator(namespace)
    try:
        node = client_node(f"{name}_{os.getpid()}", namespace)
        executor = GuardedExecutor()
        executor.add_node(node)
        try:
            yield node, executor
        finally:
            executor.shutdown()
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
