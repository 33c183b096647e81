"""Contains what callbacks and publishers raise, and names the statuses on `/diagnostics`."""

from __future__ import annotations

import inspect
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary, ref

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.action.client import ActionClient
from rclpy.action.server import ActionServer
from rclpy.client import Client
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle, ROSInterruptException
from rclpy.executors import (
    ConditionReachedException,
    ExternalShutdownException,
    ShutdownException,
    SingleThreadedExecutor,
    TimeoutException,
    TimeoutObject,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from planner.ros import qos
from planner.world import topics
from planner.world.bounds import OutOfBounds

# Names of statuses on `/diagnostics`, which is shared by all namespaces.

# The status that says whether the recorder writes what it receives.
RECORDER_STATUS = "recorder: bag"


def status_name(node: Node, name: str) -> str:
    """A status's name in the node's namespace: `bridge: world`, or `/left/bridge: world`."""
    namespace = str(node.get_namespace()).rstrip("/")
    return f"{namespace}/{name}" if namespace else name


def own_statuses(data: bytes, namespace: str) -> bytes | None:
    """A `DiagnosticArray` without the statuses of other namespaces, and names without this one.

    Args:
        data: the message in CDR.
        namespace: full name of the namespace.

    Returns:
        The message in CDR; None if no status is left.
    """
    message = deserialize_message(data, DiagnosticArray)
    kept = []
    for status in message.status:
        if status.name.startswith(f"{namespace}/"):
            status.name = status.name.removeprefix(f"{namespace}/")
        elif status.name.startswith("/"):
            continue
        kept.append(status)
    message.status = kept
    return bytes(serialize_message(message)) if kept else None


# The signal handler shuts ROS down at any moment, also within a callback that publishes (an
# RCLError, which is a RuntimeError), or while a message is taken or read (pybind11's RuntimeError
# and TypeError), or while a record is written (Pydantic's error, which is a ValueError), or an
# action client made (a ValueError of rclpy).
SHUTDOWN_ERRORS = (InvalidHandle, RuntimeError, TypeError, ValueError)
# Wall seconds: how long the thread that shuts ROS down may lag behind the signal. An exception that
# a shutdown may have caused is reported only after that.
SHUTDOWN_S = 1.0
PUBLISH_PERIOD_S = 1.0
# Places in the code whose traceback was logged; further ones are only counted.
MAX_PLACES = 200
_INDEX = re.compile(r"\[\d+\]")
# Marks a service's callback that answers with a refusal where it fails.
_ANSWERS = "answers_failures"
# The general failure of our services; 0 is success.
_FAILED = 1
_END = (ExternalShutdownException, ROSInterruptException)

Callback: TypeAlias = Callable[..., Any]


class EndNodeError(Exception):
    """Carries, as its cause, an exception that is to end the node."""


def essential(callback: Callback) -> Callback:
    """A callback or coroutine without which the node is of no use: what it raises ends the node."""

    @wraps(callback)
    def call(*args: Any) -> Any:
        try:
            return callback(*args)
        except Exception as error:
            raise EndNodeError from error

    @wraps(callback)
    async def follow(*args: Any) -> Any:
        try:
            return await callback(*args)
        except Exception as error:
            raise EndNodeError from error

    return follow if inspect.iscoroutinefunction(callback) else call


class CallbackGuard:
    """Reports what the callbacks of one node raise, and which messages it dropped.

    Attributes:
        count: of exceptions so far.
        dropped: number of messages that were out of bounds.
    """

    def __init__(self, node: Node) -> None:
        """Creates nothing on the node until there is something to report."""
        # Not to keep a node that has ended: the middleware would say for long that it is there.
        self._node_ref = ref(node)
        self.count = self.dropped = 0
        self._last = ""
        self._places: set[tuple[str, str, int]] = set()
        # Reports that a shutdown may have caused, with the time from which on they are due.
        self._held: list[tuple[float, str]] = []
        self._publisher: Any = None
        self._publish_at_s = 0.0

    @property
    def _node(self) -> Node:
        node = self._node_ref()
        if node is None:
            raise ReferenceError("the node has ended")
        return node

    def contain(self, error: Exception, where: str) -> None:
        """Takes an exception: its traceback is logged once for each place in the code.

        Args:
            error: what was raised.
            where: what failed, such as `service /memory/query`.
        """
        self.count += 1
        self._last = f"{where}: {error!r}"[:500]
        self._publish_at_s = 0.0
        frame = traceback.extract_tb(error.__traceback__)[-1:]
        place = (
            type(error).__name__,
            *((frame[0].filename, frame[0].lineno or 0) if frame else ("", 0)),
        )
        if place in self._places or len(self._places) >= MAX_PLACES:
            return
        self._places.add(place)
        lines = "".join(traceback.format_exception(error)).rstrip()
        text = f"{where} failed, the node goes on; this is reported once\n{lines}"
        if isinstance(error, SHUTDOWN_ERRORS):
            self._held.append((time.monotonic() + SHUTDOWN_S, text))
        else:
            self._node.get_logger().error(text)

    def drop(self, topic: str, problem: OutOfBounds) -> None:
        """Counts a message that nobody read; logged once for each field of a topic."""
        self.dropped += 1
        self._last = f"{topic} is not read: {problem}"[:500]
        self._publish_at_s = 0.0
        place = (topic, _INDEX.sub("[]", problem.field), 0)
        if place not in self._places and len(self._places) < MAX_PLACES:
            self._places.add(place)
            self._node.get_logger().error(f"{self._last}; this is reported once")

    def watch(self) -> None:
        """Reports what is due; to be called often, in the executor's thread."""
        if not self.count and not self.dropped:
            return
        now_s = time.monotonic()
        while self._held and self._held[0][0] <= now_s:
            self._node.get_logger().error(self._held.pop(0)[1])
        if now_s >= self._publish_at_s and not self._held:
            self._publish_at_s = now_s + PUBLISH_PERIOD_S
            self._publish()

    def _publish(self) -> None:
        text = f"{self.count} failed, {self.dropped} messages dropped; last: {self._last}"
        values = {"failed": str(self.count), "dropped": str(self.dropped)}
        self.report("callbacks", DiagnosticStatus.WARN, text, values)

    def report(self, what: str, level: bytes, text: str, values: Mapping[str, str]) -> None:
        """Publishes the status `NODE: what` on `/diagnostics`."""
        status = DiagnosticStatus(
            level=level,
            name=status_name(self._node, f"{self._node.get_name()}: {what}"),
            message=text,
            hardware_id=self._node.get_name(),
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        try:
            if self._publisher is None or self._publisher not in [*self._node.publishers]:
                self._publisher = self._diagnostics()
            self._publisher.publish(message)
        except SHUTDOWN_ERRORS as error:
            # Without the right to publish there, or amid a shutdown: the log has it.
            self._node.get_logger().warning(f"{topics.DIAGNOSTICS}: {error}", once=True)

    def _diagnostics(self) -> Any:
        """The node's publisher, or a new one."""
        for publisher in self._node.publishers:
            if publisher.topic_name == topics.DIAGNOSTICS:
                return publisher
        return self._node.create_publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)


_guards: WeakKeyDictionary[Node, CallbackGuard] = WeakKeyDictionary()


def guard_of(node: Node) -> CallbackGuard:
    """The node's guard."""
    if node not in _guards:
        _guards[node] = CallbackGuard(node)
    return _guards[node]


class GuardedExecutor(SingleThreadedExecutor):
    """A single-threaded executor that goes on after a callback has failed.

    Exceptions of `essential` callbacks, and those by which ROS and Python end a process, are passed
    on. With several nodes, a task that belongs to none is reported by the first.
    """

    def _spin_once_impl(
        self,
        timeout_sec: float | TimeoutObject | None = None,
        wait_condition: Callable[[], bool] = lambda: False,
    ) -> None:
        for each in self.get_nodes():
            guard_of(each).watch()
        try:
            handler, entity, node = self.wait_for_ready_callbacks(timeout_sec, None, wait_condition)
        except (ShutdownException, TimeoutException, ConditionReachedException):
            return
        handler()
        error = handler.exception()
        if error is None:
            return
        if isinstance(error, EndNodeError):
            raise error.__cause__ or error
        if isinstance(error, _END) or not isinstance(error, Exception):
            raise error
        self._release(entity)
        nodes = [node] if node is not None else self.get_nodes()
        if not nodes:
            raise error
        guard_of(nodes[0]).contain(error, name_of(entity))

    def _release(self, entity: Any) -> None:
        """Lets an entity be served again whose message could not even be taken.

        rclpy marks it as busy before it takes, and would never look at it again.
        """
        if entity is None or not entity._executor_event:  # noqa: SLF001 - rclpy's own mark
            return
        entity._executor_event = False  # noqa: SLF001
        if entity.callback_group is not None:
            entity.callback_group.ending_execution(entity)

    def _take_service(self, srv: Service[Any, Any]) -> Any:
        if not hasattr(srv.callback, _ANSWERS):
            owner = next((n for n in self.get_nodes() if srv in [*n.services]), None)
            if owner is not None:
                srv.callback = _answering(srv, srv.callback, guard_of(owner))
        return super()._take_service(srv)


def name_of(entity: Any) -> str:
    """What an executor's entity is, in words: `subscription /tf`, `service /world/load`."""
    if isinstance(entity, Subscription):
        return f"subscription {entity.topic_name}"
    if isinstance(entity, Service | Client):
        return f"{type(entity).__name__.lower()} {entity.service_name}"
    if isinstance(entity, ActionServer | ActionClient):
        return "an action"
    if isinstance(entity, Timer):
        return "a timer"
    return "a task" if entity is None else type(entity).__name__


def _answering(srv: Any, callback: Callback, guard: CallbackGuard) -> Callback:
    """A service's callback that answers with a refusal if it fails."""
    where = name_of(srv)
    kind = srv.srv_type

    async def answer(request: Any, response: Any) -> Any:
        try:
            made = callback(request, response)
            return await made if inspect.isawaitable(made) else made
        except (EndNodeError, *_END):
            raise
        except Exception as error:
            guard.contain(error, where)
            return refusal(kind.Response(), f"{type(error).__name__}: {error}")

    async def answer_each(request: Any, response: Any) -> Any:
        # One that cannot be read is refused alone, as the service promises.
        for parameter in request.parameters:
            one = await answer(kind.Request(parameters=[parameter]), kind.Response())
            response.results += list(one.results)
        return response

    found = answer_each if kind is SetParameters else answer
    setattr(found, _ANSWERS, True)
    return found


def refusal(response: Any, reason: str) -> Any:
    """A new response that says why there is no other, as far as its type can.

    Args:
        response: with the values of its type, in which no `success` is.
        reason: in one line.
    """
    text = f"the request cannot be carried out: {reason}"
    if isinstance(response, SetParameters.Response):
        response.results = [SetParametersResult(successful=False, reason=text)]
    elif hasattr(response, "result") and hasattr(response.result, "reason"):
        response.result.reason = text
    if isinstance(getattr(response, "code", None), int):
        response.code = _FAILED
    for field in ("message", "text"):
        if isinstance(getattr(response, field, None), str):
            setattr(response, field, text)
    return response


# A publisher that counts messages it cannot send instead of raising.


# Between two looks at whether a subscriber that is known is matched.
_MATCH_POLL_S = 0.02


class SafePublisher:
    """A publisher that survives full queues and shutdown."""

    def __init__(
        self, node: Node, message_type: type[Any], topic: str, qos: QoSProfile, losses: Counter[str]
    ) -> None:
        """Advertises `topic`; `losses` counts messages that could not be sent, by topic."""
        self._node = node
        self._publisher = node.create_publisher(message_type, topic, qos)
        self._topic, self._losses = str(self._publisher.topic_name), losses
        self._served = 0

    @property
    def has_subscribers(self) -> bool:
        """Whether there are subscribers; without any, messages need not be built."""
        return self.subscriber_count > 0

    @property
    def subscriber_count(self) -> int:
        """Number of subscribers; 0 after shutdown."""
        try:
            return int(self._publisher.get_subscription_count())
        except (InvalidHandle, rclpy_implementation.RCLError):
            return 0

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last message."""
        subscribers = self.subscriber_count
        self._served = min(self._served, subscribers)
        return subscribers > self._served

    def publish(self, message: Any) -> bool:
        """Sends a message, or counts it as lost; returns whether it was sent."""
        self._served = self.subscriber_count
        try:
            self._publisher.publish(message)
        except (InvalidHandle, rclpy_implementation.RCLError):
            # Raised by a reliable writer whose readers do not keep up, and after shutdown.
            self._losses[self._topic] += 1
            return False
        return True

    def wait_for_acks(self, limit_s: float) -> bool:
        """Waits until every subscriber has acknowledged all messages, before this process ends.

        Blocks all threads of the process: rclpy does not release the GIL.

        Args:
            limit_s: timeout, wall seconds: a subscriber that died is listed for a while.

        Returns:
            Whether all have acknowledged; True without subscribers.
        """
        try:
            return bool(self._publisher.wait_for_all_acked(Duration(seconds=limit_s)))
        except (InvalidHandle, rclpy_implementation.RCLError):
            return False

    def wait_until_heard(self, limit_s: float) -> bool:
        """As `wait_for_acks`, also of subscribers that are known and not matched yet.

        The middleware matches the topics of a node that has just come one after another, and waits
        for acknowledgements of those alone that it has matched.
        """
        until_s = time.monotonic() + limit_s
        while self._known_count() > self.subscriber_count:
            if time.monotonic() >= until_s:
                return False
            time.sleep(_MATCH_POLL_S)
        return self.wait_for_acks(max(until_s - time.monotonic(), 0.0))

    def _known_count(self) -> int:
        try:
            return int(self._node.count_subscribers(self._topic))
        except (InvalidHandle, rclpy_implementation.RCLError):
            return 0

    def destroy(self) -> None:
        """Removes the topic."""
        self._node.destroy_publisher(self._publisher)
