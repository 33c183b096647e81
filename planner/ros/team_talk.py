"""What agents say to each other: a topic of each agent, on which it speaks and all listen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from planner.ros import qos
from planner.ros.checked_subscription import listen
from planner.world import topics

_BOUNDS = f"/{topics.SAYS}"


class TeamTalk:
    """Publishes and subscribes for the agents that it is told of."""

    def __init__(self, node: Node, hear: Callable[[str, str], None]) -> None:
        """`hear` receives an agent and its text, in the executor's thread."""
        self._node, self._on_message = node, hear
        self._publishers: dict[str, Any] = {}

    def add(self, agent: str) -> None:
        """Creates an agent's topic; the second time has no effect."""
        if agent in self._publishers:
            return

        def take(message: String) -> None:
            self._on_message(agent, message.data)

        topic = topics.of_agent(agent, topics.SAYS)
        self._publishers[agent] = self._node.create_publisher(String, topic, qos.EVENTS)
        listen(self._node, String, topic, take, qos.EVENTS, _BOUNDS)

    def say(self, agent: str, text: str) -> None:
        """Publishes what an agent says, in the executor's thread."""
        self.add(agent)
        self._publishers[agent].publish(String(data=text))
