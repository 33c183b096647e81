"""A subscription that its owner polls, outside the executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import QoSMessageLostInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription


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
