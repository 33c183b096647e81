"""The world's time at the moment somebody asks, for stamps; listening costs nothing in between."""

from __future__ import annotations

import struct

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from planner.ros import qos
from planner.ros.polled_subscription import PolledGroup, PolledSubscription
from planner.world import topics


class WorldClock:
    """`/clock` where a simulator publishes it, else the newest stamp that was heard."""

    def __init__(self, node: Node) -> None:
        """Subscribes; the node's executor is never woken by it."""
        self._ticks = PolledSubscription(
            node, Clock, topics.CLOCK, qos.STATE_INPUT, PolledGroup(), lambda _lost: None
        )
        self._has_ticks = False
        self._now_s = 0.0

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock; 0 before anything was heard."""
        while (taken := self._ticks.take()) is not None:
            # 4 bytes of encoding, then the time.
            seconds, nanoseconds = struct.unpack_from("<iI", taken.data, 4)
            self._now_s, self._has_ticks = seconds + nanoseconds * 1e-9, True
        return self._now_s

    def update(self, stamp_s: float) -> None:
        """Notes a stamp that was heard; it counts where nobody publishes `/clock`."""
        if not self._has_ticks:
            self._now_s = max(self._now_s, stamp_s)
