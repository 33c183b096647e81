"""Heartbeats of executives: publishing, relaying and receiving them."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Collection
from typing import Any

from planner_msgs.msg import Heartbeat
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import (
    QoSLivelinessChangedInfo,
    QoSRequestedDeadlineMissedInfo,
    QoSRequestedIncompatibleQoSInfo,
    SubscriptionEventCallbacks,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import qos_policy_name_from_kind
from rclpy.subscription import Subscription

from planner.command_line import supervisor_is_silent
from planner.ros import qos
from planner.ros.conversions import time_message
from planner.ros.subscriptions import bounds_of, checked
from planner.world import topics
from planner.world.bounds import OutOfBounds

HEARTBEAT_PERIOD_S = 0.1

_RCLError = rclpy_implementation.RCLError


def safety_topic(agent: str) -> str:
    """Topic on which the bridge receives an agent's heartbeats."""
    return topics.of_agent(agent, topics.SAFETY_HEARTBEAT)


def skill_topic(agent: str) -> str:
    """Topic on which the skill executor receives them, to relay them to the bridge."""
    return topics.of_agent(agent, topics.SKILL_HEARTBEAT)


class HeartbeatPublisher:
    """One executive: publishes heartbeats at 10 Hz from the executor of its node.

    A node whose callbacks hang falls silent, as intended. If decisions are made in another thread
    or loop, `is_alive` reports whether that still runs. One whose supervisor is silent falls silent
    too: it would not hear a Ctrl-C.
    """

    def __init__(
        self,
        node: Node,
        *,
        through_skills: bool = False,
        is_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        """Attends no agent yet.

        Args:
            node: publishes; its name is the prefix of the executive's.
            through_skills: whether to send to the skill executor, which relays; else to the bridge.
            is_alive: called before each heartbeat, which is skipped if it returns False.
        """
        self.executive = f"{node.get_name()}-{uuid.uuid4().hex[:8]}"
        self._node = node
        self._topic = skill_topic if through_skills else safety_topic
        self._is_alive = is_alive
        self._publishers: dict[str, Any] = {}
        self._attended: frozenset[str] = frozenset()
        self._sequence = 0
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(
            HEARTBEAT_PERIOD_S, self._on_timer, clock=steady, autostart=False
        )

    def advertise(self, agent: str) -> None:
        """Creates the agent's publisher, so that subscribers are discovered in advance."""
        if agent not in self._publishers:
            self._publishers[agent] = self._node.create_publisher(
                Heartbeat, self._topic(agent), qos.HEARTBEAT
            )

    def attend(self, agents: Collection[str]) -> None:
        """Attends these agents from now on; those no longer attended get a last message."""
        left = self._attended - frozenset(agents)
        self._attended = frozenset(agents)
        for agent in sorted(left):
            self._send(agent, leaving=True)
        if self._attended:
            self.send_now()
            self._timer.reset()
        else:
            self._timer.cancel()

    def send_now(self) -> None:
        """Sends a heartbeat at once, after a decision."""
        if supervisor_is_silent():
            return
        for agent in sorted(self._attended):
            self._send(agent)

    def destroy(self) -> None:
        """Sends the last messages and removes the topics."""
        self.attend(())
        self._node.destroy_timer(self._timer)
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers.clear()

    def _on_timer(self) -> None:
        if self._is_alive():
            self.send_now()

    def _send(self, agent: str, *, leaving: bool = False) -> None:
        self.advertise(agent)
        self._sequence += 1
        message = Heartbeat(
            executive=self.executive,
            sequence=self._sequence,
            leaving=leaving,
            stamp=time_message(time.monotonic()),
        )
        _publish(self._publishers[agent], message)


class HeartbeatRelay:
    """Relays heartbeats of planners from the skill executor to the bridge."""

    def __init__(self, node: Node, agent: str) -> None:
        """Forwards messages from `skill_topic` to `safety_topic` unchanged."""
        self._node = node
        # When an executive was last heard, on the monotonic clock; a goodbye ends that.
        self.heard_s = -math.inf
        self._publisher = node.create_publisher(Heartbeat, safety_topic(agent), qos.HEARTBEAT)
        self._relay = checked(node, Heartbeat, skill_topic(agent), self._pass_on)
        self._subscription = node.create_subscription(
            Heartbeat,
            skill_topic(agent),
            self._relay,
            qos.HEARTBEAT_INPUT,
            event_callbacks=SubscriptionEventCallbacks(
                incompatible_qos=_incompatible_qos_logger(node, skill_topic(agent))
            ),
        )

    def destroy(self) -> None:
        """Removes both topics."""
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_publisher(self._publisher)

    def relay_pending(self) -> None:
        """Relays messages that have arrived, so that the agent is attended before a goal is sent.

        Must be called in the thread of the node's executor.
        """
        while (message := _taken(self._subscription)) is not None:
            self._relay(message)

    def _pass_on(self, message: Heartbeat) -> None:
        self.heard_s = -math.inf if message.leaving else time.monotonic()
        _publish(self._publisher, message)


class HeartbeatSubscription:
    """Heartbeats of one agent, queued until they are taken.

    `take` reads them from the middleware, so that no other callback of the node delays one. The
    executor only keeps them for the next call: one that waits for the subscription's events, but
    not for its messages, would never rest while a message is unread. Deadline and liveliness events
    come through the executor.
    """

    def __init__(self, node: Node, topic: str, on_silence: Callable[[bool], None]) -> None:
        """Subscribes; `on_silence` is called on a missed deadline, with True if none is alive."""
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._bounds = bounds_of(Heartbeat)
        self._last_problem: OutOfBounds | None = None
        self._received: list[Heartbeat] = []

        def late(missed: QoSRequestedDeadlineMissedInfo) -> None:
            if missed.total_count_change > 0:
                on_silence(False)

        def changed(living: QoSLivelinessChangedInfo) -> None:
            if living.alive_count == 0 or living.alive_count_change < 0:
                on_silence(living.alive_count == 0)

        self._subscription = node.create_subscription(
            Heartbeat,
            topic,
            self._received.append,
            qos.HEARTBEAT_INPUT,
            event_callbacks=SubscriptionEventCallbacks(
                deadline=late,
                liveliness=changed,
                incompatible_qos=_incompatible_qos_logger(node, topic),
            ),
        )

    def take(self) -> list[Heartbeat]:
        """Valid messages since the last call, oldest first."""
        messages, taken = self._received[:], []
        self._received.clear()
        while (message := _taken(self._subscription)) is not None:
            messages.append(message)
        for message in messages:
            problem = self._bounds.problem(message, 0.0)
            if not message.executive:
                problem = problem or OutOfBounds("executive", 'expected the sender\'s name, got ""')
            if problem is None:
                taken.append(message)
            elif problem != self._last_problem:
                self._last_problem = problem
                self._node.get_logger().warning(f"{self._topic}: message ignored: {problem}")
        return taken

    def destroy(self) -> None:
        """Removes the subscription."""
        self._node.destroy_subscription(self._subscription)


def _taken(subscription: Subscription[Heartbeat]) -> Heartbeat | None:
    with subscription.handle:
        found: Any = subscription.handle.take_message(Heartbeat, False)
    return None if found is None else found[0]


def _publish(publisher: Any, message: Heartbeat) -> None:
    try:
        publisher.publish(message)
    except _RCLError:
        # After shutdown; a missing heartbeat is the right signal.
        return


def _incompatible_qos_logger(
    node: Node, topic: str
) -> Callable[[QoSRequestedIncompatibleQoSInfo], None]:
    def say(found: QoSRequestedIncompatibleQoSInfo) -> None:
        full = node.resolve_topic_name(topic)
        policy = qos_policy_name_from_kind(found.last_policy_kind)
        node.get_logger().error(
            f"{full}: a publisher has incompatible {policy}: heartbeats are "
            f"reliable, MANUAL_BY_TOPIC, with a deadline and a lease of {qos.SILENT_AFTER_S:g} s; "
            "use planner.ros.heartbeat.HeartbeatPublisher or `planner attend`"
        )

    return say
