"""A publisher that counts messages it cannot send instead of raising."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile


class SafePublisher:
    """A publisher that survives full queues and shutdown."""

    def __init__(
        self,
        node: Node,
        message_type: type[Any],
        topic: str,
        qos: QoSProfile,
        losses: Counter[str],
    ) -> None:
        """Advertises `topic`; `losses` counts messages that could not be sent, by topic."""
        self._node = node
        self._publisher = node.create_publisher(message_type, topic, qos)
        self._losses = losses
        self._served = 0

    @property
    def has_subscribers(self) -> bool:
        """Whether there are subscribers; without any, messages need not be built."""
        return self.subscriber_count > 0

    @property
    def subscriber_count(self) -> int:
        """Number of subscribers."""
        return int(self._publisher.get_subscription_count())

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
        except rclpy_implementation.RCLError:
            # Raised by a reliable writer whose readers do not keep up, and after shutdown.
            self._losses[self._publisher.topic_name] += 1
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

    def destroy(self) -> None:
        """Removes the topic."""
        self._node.destroy_publisher(self._publisher)
