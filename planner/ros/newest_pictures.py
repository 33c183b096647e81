"""The newest colour picture of each agent's hand camera, decoded only when somebody asks for it."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Image

from planner.models.picture import Picture
from planner.ros import images, qos
from planner.ros.checked_subscription import reader
from planner.world import topics
from planner.world.observation import RgbImage

_CAMERA = "hand"


class NewestPictures:
    """Subscribes for the agents that it is told of; keeps one message of each, as it came."""

    def __init__(self, node: Node) -> None:
        """Takes the node that subscribes."""
        self._node = node
        self._messages: dict[str, bytes] = {}
        self._read = reader(node, Image, topics.colour_image(_CAMERA))
        self._subscriptions: dict[str, Any] = {}

    def add(self, agent: str) -> None:
        """Subscribes to an agent's camera; the second time has no effect."""
        if agent in self._subscriptions:
            return

        def take(message: bytes) -> None:
            self._messages[agent] = message

        topic = topics.of_agent(agent, topics.colour_image(_CAMERA))
        self._subscriptions[agent] = self._node.create_subscription(
            Image, topic, take, qos.IMAGE_INPUT, raw=True
        )

    def has(self, agent: str) -> bool:
        """Whether an agent's picture has come."""
        return agent in self._messages

    def picture(self, agent: str) -> Picture | None:
        """The newest one; None if none has come yet. May be called from any thread.

        Raises:
            PlannerError: for an encoding that cannot be read.
        """
        image = self.image(agent)
        return None if image is None else Picture.of(image)

    def image(self, agent: str) -> RgbImage | None:
        """The same as pixels, (h, w, 3).

        Raises:
            PlannerError: for an encoding that cannot be read.
        """
        message = self._messages.get(agent)
        if message is None:
            return None
        picture = self._read(message)
        return None if picture is None else images.rgb_array(picture)
