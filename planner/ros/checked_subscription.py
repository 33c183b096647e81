"""Subscriptions to what other nodes say: what is out of bounds is dropped, and this is said.

Messages that are taken serialised are checked once somebody reads them, by `checked`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from planner.ros.guard import guard_of
from planner.ros.message_bounds import bounds_of, type_name
from planner.world.bounds import OutOfBounds


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
