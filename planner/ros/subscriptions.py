"""Subscriptions: checked against bounds, or polled outside the executor, as for /clock."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import Any, TypeAlias

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from rosgraph_msgs.msg import Clock

from planner.ros import qos
from planner.ros.guard import guard_of
from planner.world import topics
from planner.world.bounds import Bound, Items, Number, OneOf, OutOfBounds, Stamp, Text, Unbounded
from planner.world.field_bounds import RULES, bound_of
from planner.world.memory_wire import stamp_seconds

# Checks messages from outside and between nodes by the table of `planner.world.field_bounds`.
#
# The checks follow from the message's definition: a new field without a bound is an error when the
# checker is built. Lists of messages, such as the entities of a world, are checked field by field,
# all items at a time; only if one of them is out of bounds is each looked at, to say which.

_TIME = "builtin_interfaces/Time"
_ARRAY = re.compile(r"(?:sequence<(?P<item>[^,]*)(?:,.*)?>|(?P<fixed>.*)\[\d+\])$")
_STRINGS = re.compile(r"w?string")
# Placeholder field of an empty message.
_FILLER = "structure_needs_at_least_one_member"
Owners: TypeAlias = tuple[tuple[str, str], ...]
Rule: TypeAlias = Callable[[Any], OutOfBounds | None]


@dataclass(frozen=True, slots=True)
class _Field:
    """The check of one field: an array's `count`, then each item's bound or fields and rule."""

    name: str
    # Its value, without the check of a property that rclpy makes of it.
    read: Callable[[Any], Any]
    is_array: bool
    count: Items | None
    bound: Bound | None
    fields: tuple[_Field, ...] = ()
    rule: Rule | None = None

    @property
    def accepts_all(self) -> bool:
        """Whether there is nothing to check."""
        if self.count is not None or self.rule is not None:
            return False
        return isinstance(self.bound, Unbounded) or (self.bound is None and not self.fields)


class MessageBounds:
    """The checker of one message type."""

    def __init__(self, message_type: Any, name: str = "") -> None:
        """Builds the checker from the definition.

        Args:
            message_type: class of the message.
            name: of its bounds, if not the type's.

        Raises:
            UnboundedFieldError: naming a field that has no bound.
        """
        self._fields = _fields_of(message_type, ((name or type_name(message_type), ""),))
        self._rule = RULES.get(name or type_name(message_type))

    def problem(self, message: Any, now_s: float) -> OutOfBounds | None:
        """The first field that is out of bounds and why; None if none is.

        Args:
            message: of the type.
            now_s: on the clock of the message's stamps.
        """
        return _problem(message, self._fields, self._rule, now_s)


def bounds_of(message_type: Any, name: str = "") -> MessageBounds:
    """The cached checker of a message type."""
    return _bounds_of(message_type, name)


_bounds_of = cache(MessageBounds)


def type_name(message_type: Any) -> str:
    """A message class as `package/Type`."""
    return f"{message_type.__module__.partition('.')[0]}/{message_type.__name__}"


def _fields_of(message_type: Any, owners: Owners) -> tuple[_Field, ...]:
    types = message_type.get_fields_and_field_types()
    fields = (
        _field(name, attrgetter(f"_{name}"), text, _within(owners, name))
        for name, text in types.items()
        if name != _FILLER
    )
    # Entities have many that are not worth a look, and some nodes check a hundred of them at once.
    return tuple(field for field in fields if not field.accepts_all)


def _within(owners: Owners, name: str) -> Owners:
    return tuple((owner, f"{path}.{name}" if path else name) for owner, path in owners)


def _field(name: str, read: Callable[[Any], Any], text: str, owners: Owners) -> _Field:
    array = _ARRAY.match(text)
    count = None
    if array is not None:
        if array["item"] is not None:
            count = _as_items(bound_of(owners), owners)
        text = array["item"] or array["fixed"]
        owners = tuple((owner, f"{path}[]") for owner, path in owners)
    if "/" in text and text != _TIME:
        inner = _message_type(text)
        fields = _fields_of(inner, (*owners, (text, "")))
        return _Field(name, read, array is not None, count, None, fields, RULES.get(text))
    bound = bound_of(owners)
    allowed: tuple[type, ...] = (Stamp,) if text == _TIME else (Number, OneOf)
    if _STRINGS.match(text):
        allowed = (Text, OneOf)
    if not isinstance(bound, (*allowed, Unbounded)):
        raise TypeError(f"{owners[0]}: expected a bound for {text}, got {bound}")
    return _Field(name, read, array is not None, count, bound)


def _as_items(bound: Bound, owners: Owners) -> Items:
    if not isinstance(bound, Items):
        raise TypeError(f"{owners[0]}: expected a bound for an array, got {bound}")
    return bound


def _message_type(name: str) -> Any:
    package, _, kind = name.partition("/")
    return getattr(import_module(f"{package}.msg"), kind)


def _problem(
    message: Any, fields: Sequence[_Field], rule: Rule | None, now_s: float
) -> OutOfBounds | None:
    # Paths are put together on the way back only: nearly every message is in bounds.
    for field in fields:
        value = field.read(message)
        found = (
            _array_problem(value, field, now_s)
            if field.is_array
            else _value_problem(value, field, now_s)
        )
        if found is not None:
            return _within_field(field.name, found)
    return None if rule is None else rule(message)


def _within_field(name: str, found: OutOfBounds) -> OutOfBounds:
    """What was found in a field or item, whose own path is empty or begins with `.` or `[`."""
    return OutOfBounds(f"{name}{found.field}", found.reason)


def _array_problem(values: Any, field: _Field, now_s: float) -> OutOfBounds | None:
    reason = "" if field.count is None else field.count.reason(len(values))
    if reason:
        return OutOfBounds("", reason)
    if isinstance(field.bound, Unbounded):
        return None
    if field.bound is None and _accepts(values, field.fields, field.rule):
        return None
    if isinstance(field.bound, Number):
        index = field.bound.first_invalid(values)
        if index is None:
            return None
        return OutOfBounds(f"[{index}]", field.bound.reason(values[index]))
    for index, value in enumerate(values):
        found = _value_problem(value, field, now_s)
        if found is not None:
            return _within_field(f"[{index}]", found)
    return None


def _accepts(items: Sequence[Any], fields: Sequence[_Field], rule: Rule | None) -> bool:
    """Whether all messages of a list are known to be in bounds, by one look at each field."""
    for field in fields:
        column = list(map(field.read, items))
        if field.is_array:
            if field.count is not None and max(map(len, column), default=0) > field.count.max_count:
                return False
            column = list(chain.from_iterable(column))
        if not column or isinstance(field.bound, Unbounded):
            continue
        if isinstance(field.bound, Number | Text | OneOf):
            accepted = field.bound.accepts(column)
        else:
            accepted = field.bound is None and _accepts(column, field.fields, field.rule)
        if not accepted:
            return False
    return rule is None or not any(map(rule, items))


def _value_problem(value: Any, field: _Field, now_s: float) -> OutOfBounds | None:
    bound = field.bound
    if bound is None:
        found = _problem(value, field.fields, field.rule, now_s)
        return None if found is None else _within_field(".", found)
    if isinstance(bound, Stamp):
        reason = bound.reason(stamp_seconds(value), now_s)
    elif isinstance(bound, Number | Text | OneOf):
        reason = bound.reason(value)
    else:
        reason = ""
    return OutOfBounds("", reason) if reason else None


def checked(
    node: Node, message_type: Any, topic: str, callback: Callable[..., Any], bounds: str = ""
) -> Callable[..., Any]:
    """A subscription's callback that gets only messages in bounds.

    Args:
        node: whose log and `/diagnostics` say what was dropped.
        message_type: class of the messages.
        topic: that they come on.
        callback: gets the message, and its info if it takes two arguments.
        bounds: name of its bounds, if not the type's.

    Raises:
        UnboundedFieldError: naming a field that has no bound.
    """
    checker = bounds_of(message_type, bounds)

    @wraps(callback)
    def take(message: Any, *info: Any) -> Any:
        # Stamps of messages between nodes are of the world's clock, which may be any.
        problem = checker.problem(message, 0.0)
        if problem is None:
            return callback(message, *info)
        guard_of(node).drop(topic, problem)
        return None

    return take


def listen(
    node: Node,
    message_type: Any,
    topic: str,
    callback: Callable[..., Any],
    profile: QoSProfile,
    bounds: str = "",
) -> Subscription[Any]:
    """Subscribes; see `checked`."""
    take = checked(node, message_type, topic, callback, bounds)
    return node.create_subscription(message_type, topic, take, profile)


def reader(node: Node, message_type: Any, topic: str, bounds: str = "") -> Callable[[bytes], Any]:
    """A function that reads serialised messages of a topic; it returns None for one to be dropped.

    See `checked` for the arguments.

    Raises:
        UnboundedFieldError: naming a field that has no bound.
    """
    whole = checked(node, message_type, topic, lambda message: message, bounds)

    def read(data: bytes) -> Any:
        try:
            message = deserialize_message(data, message_type)
        except rclpy_implementation.RMWError:
            drop_bytes(node, topic, f"no {type_name(message_type)}")
            return None
        return whole(message)

    return read


def drop_bytes(node: Node, topic: str, why: str) -> None:
    """Drops a serialised message that is none."""
    guard_of(node).drop(topic, OutOfBounds("its bytes", why))


# A subscription that its owner polls, outside the executor.


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """One serialised message as the middleware delivered it.

    Attributes:
        data: in CDR.
        received_ns: when the middleware had it, nanoseconds since the epoch.
        published_ns: when its publisher sent it.
        publisher: identity of the publisher.
        number: of the message, counted by its publisher from 1; 0 = the middleware counts none.
    """

    data: bytes
    received_ns: int
    published_ns: int
    publisher: bytes
    number: int


class PolledGroup(CallbackGroup):
    """Keeps subscriptions out of the executor's wait set; their events are served as usual.

    Waiting on sixty subscriptions for each message costs far more than the messages.
    """

    def can_execute(self, entity: Any) -> bool:
        """Whether the executor may serve this entity."""
        return not isinstance(entity, Subscription)

    def beginning_execution(self, entity: Any) -> bool:
        """Whether the executor may begin with this entity now."""
        return self.can_execute(entity)

    def ending_execution(self, entity: Any) -> None:
        """Nothing is held during execution."""


class PolledSubscription:
    """Messages of one topic, queued in the middleware until they are taken."""

    def __init__(
        self,
        node: Node,
        message_type: type[Any],
        topic: str,
        profile: QoSProfile,
        group: PolledGroup,
        on_lost: Callable[[int], None] | None,
    ) -> None:
        """Subscribes.

        Args:
            node: whose subscription it is.
            message_type: of the topic.
            topic: its name.
            profile: its depth limits the queue.
            group: shared by all polled subscriptions of the node.
            on_lost: gets the number of messages that the middleware reports as lost. With None the
                executor serves no events of the subscription. Fast DDS wakes a wait for events of
                a reader that has unread messages, so an executor that blocks would never rest.
        """
        self._node = node
        self._subscription = node.create_subscription(
            message_type,
            topic,
            _never_called,
            profile,
            callback_group=group,
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=_counter(on_lost))
            if on_lost is not None
            else SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        self._type = message_type

    def take(self) -> ReceivedMessage | None:
        """The oldest queued message, or None.

        Works until the node is destroyed, after a shutdown of ROS too.
        """
        found: tuple[bytes, dict[str, Any]] | None
        with self._subscription.handle:
            found = self._subscription.handle.take_message(self._type, True)  # type: ignore[assignment]
        if found is None:
            return None
        data, info = found
        publisher = info["publisher_gid"]
        return ReceivedMessage(
            data,
            info["received_timestamp"],
            info["source_timestamp"],
            publisher["data"] if publisher else b"",
            info["publication_sequence_number"] or 0,
        )

    def destroy(self) -> None:
        """Unsubscribes."""
        self._node.destroy_subscription(self._subscription)


def _never_called(_data: bytes) -> None:
    raise AssertionError("the executor served a polled subscription")


def _counter(on_lost: Callable[[int], None]) -> Callable[[QoSMessageLostInfo], None]:
    def hear(lost: QoSMessageLostInfo) -> None:
        on_lost(int(lost.total_count_change))

    return hear


# The world's current time, polled from /clock on demand.

_SIZE = 12


class WorldClock:
    """`/clock` if a simulator publishes it, else the newest received stamp."""

    def __init__(self, node: Node) -> None:
        """Subscribes without waking the node's executor."""
        self._ticks = PolledSubscription(
            node, Clock, topics.CLOCK, qos.STATE_INPUT, PolledGroup(), on_lost=None
        )
        self._has_ticks = False
        self._now_s = 0.0

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock; 0 before the first message."""
        while (taken := self._ticks.take()) is not None:
            if len(taken.data) < _SIZE:
                continue
            # 4 bytes of encoding, then the time.
            seconds, nanoseconds = struct.unpack_from("<iI", taken.data, 4)
            self._now_s, self._has_ticks = seconds + nanoseconds * 1e-9, True
        return self._now_s

    def update(self, stamp_s: float) -> None:
        """Takes a received stamp, which counts if nobody publishes `/clock`."""
        if not self._has_ticks:
            self._now_s = max(self._now_s, stamp_s)
