"""Publishers of a bag's topics: recorded bytes with the recorded quality of service."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock

from planner.replay.player.cues import CLOCK, TF_STATIC, Cue
from planner.replay.player.recorded_qos import RecordedQos
from planner.ros import compressed_pictures, qos
from planner.world.errors import PlannerError

# Bags do not record the depth of a publisher's history, as DDS does not announce it. For a latched
# topic a few, as in `ros2 bag play`: late joiners request one, and get the last. For a latched
# stream and for pictures, enough to notice missing acknowledgements before messages are dropped.
_DEPTH, _DEPTH_OF_LARGE, _DEPTH_OF_LATCHED = 1000, 50, 10
_DEPTHS_BY_NAME = {TF_STATIC: 100, "/world/state": 1000}
_LARGE = {
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/CompressedImage",
    "sensor_msgs/msg/PointCloud2",
}
# Waits for readers that have not acknowledged what is in the history: a late message is better than
# a lost one, but one reader must not hold up all the others.
ACKNOWLEDGE_S, ACKNOWLEDGE_UNPACED_S = 0.02, 1.0
# After this many messages, acknowledgements are checked without waiting.
_LOOK_AFTER = 10
_AT_ONCE = Duration(seconds=0)
# A slow reader is not waited for again before this time has passed.
_SLOW_READER_S = 1.0
# Longest time between two checks of acknowledgements. What was kept for longer has arrived or is
# not needed, even if the last message was never acknowledged.
_ASKED_EVERY_S = 4.0


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A topic that is published.

    Attributes:
        name: to publish under.
        type_name: such as `sensor_msgs/msg/Image`.
        kind: its class.
        qos: as in the bag.
    """

    name: str
    type_name: str
    kind: Any
    qos: RecordedQos


class BagPublishers:
    """Publishes a bag's messages; a `CueSink` of the player.

    Attributes:
        lost: messages that the middleware refused.
        slow: names of topics whose readers did not keep up.
        damaged: requested raw pictures that cannot be decompressed.
    """

    def __init__(
        self,
        node: Node,
        topics: Mapping[str, Outgoing],
        pictures: Mapping[str, Outgoing],
        *,
        make_clock: bool,
        acknowledge_s: float = ACKNOWLEDGE_S,
    ) -> None:
        """Advertises all topics.

        Args:
            node: publishes them.
            topics: by their names in the bag.
            pictures: topics of raw pictures by the names of their compressed topics.
            make_clock: whether `tick` publishes `/clock`.
            acknowledge_s: how long a slow reader is waited for.
        """
        self._writers = {
            topic: _Writer(node, outgoing, acknowledge_s) for topic, outgoing in topics.items()
        }
        self._raw = {
            topic: _Writer(node, outgoing, acknowledge_s) for topic, outgoing in pictures.items()
        }
        self._clock: Publisher[Clock] | None = None
        if make_clock:
            self._clock = node.create_publisher(Clock, CLOCK, qos.CLOCK)
        self.damaged = 0
        self._clock_message: bytes | None = None

    def send(self, cue: Cue) -> None:
        """Publishes a message of the bag."""
        writer = self._writers.get(cue.topic)
        if writer is not None:
            writer.send(cue.data)
        if cue.topic == CLOCK:
            self._clock_message = cue.data
        elif self.wants_raw(cue.topic):
            self._send_raw(cue)

    def wants_raw(self, topic: str) -> bool:
        """Whether the raw form of a compressed topic has subscribers."""
        writer = self._raw.get(topic)
        return writer is not None and writer.publisher.get_subscription_count() > 0

    def _send_raw(self, cue: Cue) -> None:
        try:
            # A new subscriber may appear before the pictures decompressed ahead for it.
            data = cue.raw or compressed_pictures.raw(cue.data)
        except PlannerError:
            self.damaged += 1
            return
        self._raw[cue.topic].send(data)

    def tick(self, stamp_ns: int) -> None:
        """Publishes a generated clock."""
        if self._clock is None:
            return
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        self._clock_message = serialize_message(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
        self._publish_clock(self._clock, self._clock_message)

    def repeat_clock(self) -> None:
        """Publishes the last clock again, the bag's or a generated one."""
        if self._clock_message is None:
            return
        if self._clock is not None:
            self._publish_clock(self._clock, self._clock_message)
        elif CLOCK in self._writers:
            self._writers[CLOCK].send(self._clock_message)

    @property
    def _all(self) -> list[_Writer]:
        return [*self._writers.values(), *self._raw.values()]

    @property
    def subscribers(self) -> int:
        """Number of subscriptions to all topics."""
        return sum(writer.publisher.get_subscription_count() for writer in self._all)

    @property
    def names(self) -> list[str]:
        """Names of the published topics."""
        names = [writer.name for writer in self._all]
        return [*names, CLOCK] if self._clock else names

    @property
    def lost(self) -> int:
        """Messages that the middleware refused."""
        return sum(writer.lost for writer in self._all)

    @property
    def slow(self) -> list[str]:
        """Topics with a reader that did not keep up."""
        return [writer.name for writer in self._all if writer.is_slow]

    def finish(self, timeout_s: float) -> list[str]:
        """Waits until readers have acknowledged everything; returns topics where some have not."""
        deadline_s = time.monotonic() + timeout_s
        return list(self._unacknowledged(deadline_s))

    def _unacknowledged(self, deadline_s: float) -> Iterator[str]:
        for writer in self._all:
            left_s = max(deadline_s - time.monotonic(), 0.0)
            if not writer.publisher.wait_for_all_acked(Duration(seconds=left_s)):
                yield writer.name

    def _publish_clock(self, publisher: Publisher[Clock], data: bytes) -> None:
        # Refused only by a middleware that shuts down; the next one has the time anyway.
        try:
            publisher.publish(data)
        except rclpy_implementation.RCLError:
            return


class _Writer:
    """One topic."""

    def __init__(self, node: Node, outgoing: Outgoing, acknowledge_s: float) -> None:
        profile = _profile(outgoing)
        self.name = outgoing.name
        self.publisher: Publisher[Any] = node.create_publisher(
            outgoing.kind, outgoing.name, profile
        )
        self.lost = 0
        self.is_slow = False
        self._reliable = outgoing.qos.reliable
        self._kept = profile.depth
        self._acknowledge = Duration(seconds=acknowledge_s)
        # Number of messages sent since everything was last known to have arrived.
        self._open = 0
        self._impatient_until_s = 0.0
        self._sent_s: deque[float] = deque(maxlen=profile.depth)

    def send(self, data: bytes) -> None:
        if self._reliable and self._open >= min(self._kept, _LOOK_AFTER):
            self._count_subscribers()
        try:
            self.publisher.publish(data)
        except rclpy_implementation.RCLError:
            # A reliable writer refuses if its readers do not keep up.
            self.lost += 1
        self._open += 1
        self._sent_s.append(time.monotonic())

    def _count_subscribers(self) -> None:
        """Checks acknowledgements; waits if the next message would drop an unacknowledged one."""
        if self.publisher.wait_for_all_acked(_AT_ONCE):
            self._open = 0
        elif self._open >= self._kept and time.monotonic() >= self._impatient_until_s:
            self._open = 0
            if time.monotonic() - self._sent_s[0] >= _ASKED_EVERY_S:
                return
            if not self.publisher.wait_for_all_acked(self._acknowledge):
                self.is_slow = True
                self._impatient_until_s = time.monotonic() + _SLOW_READER_S


def _profile(outgoing: Outgoing) -> QoSProfile:
    recorded = outgoing.qos
    if recorded.latched:
        depth = _DEPTHS_BY_NAME.get(outgoing.name, _DEPTH_OF_LATCHED)
    else:
        depth = _DEPTH_OF_LARGE if outgoing.type_name in _LARGE else _DEPTH
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=(
            ReliabilityPolicy.RELIABLE if recorded.reliable else ReliabilityPolicy.BEST_EFFORT
        ),
        durability=(
            DurabilityPolicy.TRANSIENT_LOCAL if recorded.latched else DurabilityPolicy.VOLATILE
        ),
    )
