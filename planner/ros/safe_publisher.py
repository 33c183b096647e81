"""Publishing that no reader can hurt: what cannot be sent is counted, and life goes on."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile


class SafePublisher:
    """One topic that a node publishes on."""

    def __init__(
        self,
        node: Node,
        message_type: type[Any],
        topic: str,
        qos: QoSProfile,
        losses: Counter[str],
    ) -> None:
        """Advertises `topic`; messages that cannot be sent are counted in `losses`."""
        self._node = node
        self._publisher = node.create_publisher(message_type, topic, qos)
        self._losses = losses
        self._served = 0

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody listens; what nobody hears need not be made."""
        return self.subscriber_count > 0

    @property
    def subscriber_count(self) -> int:
        """How many listen."""
        return int(self._publisher.get_subscription_count())

    @property
    def has_new_subscribers(self) -> bool:
        """Whether somebody came to listen after the last message was sent."""
        subscribers = self.subscriber_count
        self._served = min(self._served, subscribers)
        return subscribers > self._served

    def publish(self, message: Any) -> bool:
        """Sends a message, or counts it as lost; returns whether it was sent."""
        self._served = self.subscriber_count
        try:
            self._publisher.publish(message)
        except rclpy_implementation.RCLError:
            # A reliable writer whose readers do not keep up refuses; so does one after shutdown.
            self._losses[self._publisher.topic_name] += 1
            return False
        return True

    def wait_for_acks(self, limit_s: float) -> bool:
        """Waits until every listener has all messages; what they lack is lost with this process.

        All threads of the process wait: rclpy does not let go of the interpreter.

        Args:
            limit_s: how long at most, wall seconds: a listener that died is listed for a while.

        Returns:
            Whether they have them; also where nobody listens.
        """
        try:
            return bool(self._publisher.wait_for_all_acked(Duration(seconds=limit_s)))
        except (InvalidHandle, rclpy_implementation.RCLError):
            return False

    def destroy(self) -> None:
        """Takes the topic away."""
        self._node.destroy_publisher(self._publisher)
