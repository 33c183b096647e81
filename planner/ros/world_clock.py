"""The world's current time, polled from /clock on demand."""

from __future__ import annotations

import struct

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from planner.ros import qos
from planner.ros.polled_subscription import PolledGroup, PolledSubscription
from planner.world import topics

_SIZE = 12


class WorldClock:
    """`/clock` if a simulator publishes it, else the newest received stamp."""

    def __init__(self, node: Node) -> None:
        """Subscribes without waking the node's executor."""
        self._ticks = PolledSubscription(
            node, Clock, topics.CLOCK, qos.STATE_INPUT, PolledGroup(), on_lost=None
        )
        self._has_ticks = False
        self._now_s = 0.0

    @property
    def now_s(self) -> float:
        """Seconds of the world's clock; 0 before the first message."""
        while (taken := self._ticks.take()) is not None:
            if len(taken.data) < _SIZE:
                continue
            # 4 bytes of encoding, then the time.
            seconds, nanoseconds = struct.unpack_from("<iI", taken.data, 4)
            self._now_s, self._has_ticks = seconds + nanoseconds * 1e-9, True
        return self._now_s

    def update(self, stamp_s: float) -> None:
        """Takes a received stamp, which counts if nobody publishes `/clock`."""
        if not self._has_ticks:
            self._now_s = max(self._now_s, stamp_s)
