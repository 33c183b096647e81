"""Publishes a memory for the node that keeps it: changes, entities and the graph."""

from __future__ import annotations

from collections import Counter

from planner_msgs.msg import EntityList, MemoryUpdate, WorldGraph
from rclpy.node import Node

from planner.memory.memory import Memory
from planner.ros import qos
from planner.ros.memory_messages import GraphMessages, ListMessages, change_message
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.entity import MemoryChange

# A graph in which only ages changed is published at each so many ticks: to read one is work.
AGES_TICKS = 5


class MemoryPublisher:
    """Publishes on /memory/updates, /memory/entities and /world/graph; keeps what it published."""

    def __init__(self, node: Node, losses: Counter[str]) -> None:
        """Makes the publishers.

        Args:
            node: whose publishers they are.
            losses: counts messages that could not be published, by topic.
        """
        self._updates = SafePublisher(node, MemoryUpdate, topics.MEMORY_UPDATES, qos.EVENTS, losses)
        self._list = SafePublisher(node, EntityList, topics.MEMORY_ENTITIES, qos.LATCHED, losses)
        self._graph = SafePublisher(node, WorldGraph, topics.WORLD_GRAPH, qos.LATCHED, losses)
        self._list_messages, self._graph_messages = ListMessages(), GraphMessages()
        # Whether the memory was told something since the newest graph.
        self._is_dirty = False
        # Of the newest graph: what it told but times, and when.
        self._published_graph: tuple[object, ...] = ()
        self._published_tick = 0

    def note(self) -> None:
        """The memory was told something, even if nothing has changed by it."""
        self._is_dirty = True

    def publish_change(self, memory: Memory, change: MemoryChange, tick: int) -> None:
        """Publishes one change and both snapshots after it."""
        self._updates.publish(change_message(change))
        self._publish_list(memory)
        self.publish_graph(memory, tick)

    def publish_all(self, memory: Memory, tick: int) -> None:
        """Publishes the newest change and both snapshots: at the beginning, after edits by hand."""
        for change in memory.deltas_since(memory.sequence - 1).changes:
            self._updates.publish(change_message(change))
        self._publish_list(memory)
        self.publish_graph(memory, tick)

    def publish_graph(self, memory: Memory, tick: int) -> None:
        """Publishes the graph."""
        self._is_dirty = False
        self._published_graph = _graph_content(memory)
        self._published_tick = tick
        self._graph.publish(self._graph_messages.message(memory.belief(memory.stamp_s)))

    def publish_news(self, memory: Memory, tick: int) -> None:
        """Publishes the graph if it has changed; now and then if only its ages have."""
        if not self._is_dirty:
            return
        has_changed = _graph_content(memory) != self._published_graph
        if has_changed or tick - self._published_tick >= AGES_TICKS:
            self.publish_graph(memory, tick)

    def _publish_list(self, memory: Memory) -> None:
        now = memory.snapshot()
        self._list.publish(self._list_messages.message(now.stamp_s, now.sequence, now.entities))


def _graph_content(memory: Memory) -> tuple[object, ...]:
    """The content of a graph without the times of observations."""
    agents = (
        (agent.name, agent.class_name, agent.position_m, agent.heading_rad)
        for agent in memory.agents
    )
    return (memory.sequence, *agents)
