"""What an agent sees in a world without pictures: the topic `AGENT/sightings`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner_msgs.msg import Entity, EntityList
from rclpy.node import Node

from planner.ros import qos
from planner.ros.checked_subscription import listen
from planner.ros.conversions import header, point_message, time_message
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.memory_wire import sightings_record, stamp_seconds
from planner.world.observation import Sighting

_MAP = "map"


@dataclass(frozen=True, slots=True)
class Seen:
    """What an agent saw at one instant."""

    stamp_s: float
    sightings: tuple[Sighting, ...]


class SightingsTopic:
    """Publishes what one agent sees: of each entity the name, its place and its distance."""

    def __init__(self, node: Node, agent: str, losses: Counter[str]) -> None:
        """Advertises the topic."""
        self._publisher = SafePublisher(
            node, EntityList, topics.of_agent(agent, topics.SIGHTINGS), qos.IMAGE, losses
        )

    @property
    def subscriber_count(self) -> int:
        """Number of subscribers."""
        return self._publisher.subscriber_count

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last message."""
        return self._publisher.has_new_subscribers

    def publish(self, stamp_s: float, sightings: Sequence[Sighting]) -> None:
        """Publishes what is seen at a time of the world's clock."""
        seen = time_message(stamp_s)
        entities = [
            Entity(
                name=sighting.name,
                position=point_message(sighting.position_m),
                seen_distance_m=float(sighting.distance_m),
                seen=seen,
            )
            for sighting in sightings
        ]
        self._publisher.publish(EntityList(header=header(stamp_s, _MAP), entities=entities))

    def destroy(self) -> None:
        """Removes the topic."""
        self._publisher.destroy()


class SightingsInput:
    """Subscribes to what one agent sees; see `CameraInput`."""

    def __init__(
        self,
        node: Node,
        agent: str,
        is_due: Callable[[float], bool],
        on_seen: Callable[[Seen], None],
    ) -> None:
        """Subscribes.

        Args:
            node: subscribes.
            agent: its namespace.
            is_due: whether what was seen at a stamp is needed.
            on_seen: gets it.
        """
        self.losses: Counter[str] = Counter()
        self._node = node

        def receive(message: EntityList) -> None:
            stamp_s = stamp_seconds(message.header.stamp)
            if is_due(stamp_s):
                on_seen(Seen(stamp_s, sightings_record(message)))

        topic = topics.of_agent(agent, topics.SIGHTINGS)
        self._subscription = listen(node, EntityList, topic, receive, qos.IMAGE_INPUT)

    def destroy(self) -> None:
        """Removes the subscription."""
        self._node.destroy_subscription(self._subscription)
