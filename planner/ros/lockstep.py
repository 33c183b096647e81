"""Nodes that wait for each other: lockstep, and a memory that begins anew."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from builtin_interfaces.msg import Time
from planner_msgs.msg import WorldGraph, WorldGraphNode
from rclpy.node import Node
from std_msgs.msg import Header

from planner.ros import qos
from planner.ros.clients import pause
from planner.ros.conversions import time_message
from planner.ros.guard import SafePublisher
from planner.ros.subscriptions import checked, listen
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.memory_wire import stamp_seconds

_LATEST = Time(sec=2**31 - 1)
# A planner may take long: it repeats its message so that the world keeps waiting for it.
_REPEAT_S = 2.0
# How long a message that an agent acts from now on may take to the world, wall seconds.
_ACKNOWLEDGED_S = 0.5


class LockstepChannel(StrEnum):
    """Who sends; values are the topics."""

    MEMORY = topics.LOCKSTEP_MEMORY
    SKILLS = topics.LOCKSTEP_SKILLS
    PLANNER = topics.LOCKSTEP_PLANNER
    WORLD = topics.LOCKSTEP_WORLD


class LockstepPublisher:
    """Publishes one node's messages, only while a world in lockstep subscribes."""

    def __init__(self, node: Node, channel: LockstepChannel, losses: Counter[str]) -> None:
        self._node = node
        self._publisher = SafePublisher(node, Header, channel.value, qos.EVENTS, losses)
        self._busy_since_s: dict[str, float] = {}

    @property
    def is_heard(self) -> bool:
        """Whether a world in lockstep subscribes."""
        return self._publisher.has_subscribers

    def publish(self, agent: str, until_s: float) -> None:
        """Publishes a time for an agent; infinity means that nothing is pending for it.

        If something was not pending before, returns when a world that waits for agents has the
        message: a goal that is sent next must not arrive before it, and time advance.
        """
        begins = math.isfinite(until_s) and agent not in self._busy_since_s
        if math.isinf(until_s):
            self._busy_since_s.pop(agent, None)
        else:
            self._busy_since_s[agent] = time.monotonic()
        self._send(agent, until_s)
        if begins and self._node.count_publishers(topics.LOCKSTEP_WORLD) > 0:
            self._publisher.wait_for_acks(_ACKNOWLEDGED_S)

    def repeat(self) -> None:
        """Repeats the message for every agent that the node is still working on."""
        now = time.monotonic()
        for agent, published_s in list(self._busy_since_s.items()):
            if now - published_s >= _REPEAT_S:
                self.publish(agent, 0.0)

    def _send(self, agent: str, until_s: float) -> None:
        if self.is_heard:
            stamp = _LATEST if math.isinf(until_s) else time_message(until_s)
            self._publisher.publish(Header(stamp=stamp, frame_id=agent))


class LockstepSubscriber:
    """Receives one channel; `on_message` gets the agent and a time, which may be infinite."""

    def __init__(
        self, node: Node, channel: LockstepChannel, on_message: Callable[[str, float], None]
    ) -> None:
        def receive(message: Header) -> None:
            forever = message.stamp.sec == _LATEST.sec
            on_message(message.frame_id, math.inf if forever else stamp_seconds(message.stamp))

        self._node, self._topic = node, channel.value
        self._receive = checked(node, Header, channel.value, receive, "/lockstep")
        self._subscription = node.create_subscription(
            Header, channel.value, self._receive, qos.EVENTS
        )

    def take(self) -> None:
        """Handles all messages that have arrived, ahead of the executor.

        Which serves one of each topic, and goals, in turn. Must be called in its thread.
        """
        while True:
            with self._subscription.handle:
                found: Any = self._subscription.handle.take_message(Header, False)
            if found is None:
                return
            self._receive(found[0])

    @property
    def is_present(self) -> bool:
        """Whether a publisher of the channel exists."""
        return bool(self._node.count_publishers(self._topic) > 0)


# Waiting until a memory has begun anew, after the world was put back to its beginning.

_POLL_S = 0.05
# Wall seconds that the graph of a memory which is there takes to arrive.
_LATCHED_S = 1.0


class FreshMemory:
    """Hears what the memory knew before the restart, and when it knows its agents again."""

    def __init__(self, node: Node) -> None:
        """Subscribes; `destroy` it afterwards."""
        self._node = node
        self._newest: WorldGraph | None = None
        self._before: WorldGraph | None = None
        # Whether one has come since that begins anew: by the time that it has its agents, its clock
        # may be later than that of before again.
        self._has_begun = False
        self._subscription = listen(node, WorldGraph, topics.WORLD_GRAPH, self._take, qos.LATCHED)

    def destroy(self) -> None:
        """Removes the subscription."""
        self._node.destroy_subscription(self._subscription)

    async def listen(self) -> None:
        """Waits for what the memory knows now; call it before the restart."""
        until_s = time.monotonic() + _LATCHED_S
        while self._newest is None and time.monotonic() < until_s:
            await pause(self._node, _POLL_S)
        self._before = self._newest

    async def begun(self, wait_s: float) -> None:
        """Waits for a memory that began after `listen`, with the agents of then.

        Without a memory there is nothing to wait for.

        Raises:
            PlannerError: after `wait_s` wall seconds.
        """
        until_s = time.monotonic() + wait_s
        while self._before is not None and not self._is_new(self._before):
            if time.monotonic() > until_s:
                raise PlannerError(f"the memory did not begin anew within {wait_s:g} s")
            await pause(self._node, _POLL_S)

    def _take(self, message: WorldGraph) -> None:
        self._newest = message
        if self._before is not None and _begins_anew(self._before, message):
            self._has_begun = True

    def _is_new(self, before: WorldGraph) -> bool:
        now = self._newest
        return self._has_begun and now is not None and _agents(before) <= _agents(now)


def _begins_anew(before: WorldGraph, now: WorldGraph) -> bool:
    """Whether a graph is of another house, or of a memory whose clock or count went back."""
    went_back = stamp_seconds(now.header.stamp) < stamp_seconds(before.header.stamp)
    return went_back or now.sequence < before.sequence or _rooms(before) != _rooms(now)


def _rooms(graph: WorldGraph) -> set[str]:
    return {str(node.name) for node in graph.nodes if node.kind == WorldGraphNode.KIND_ROOM}


def _agents(graph: WorldGraph) -> set[str]:
    return {str(node.name) for node in graph.nodes if node.kind == WorldGraphNode.KIND_AGENT}
