"""The poses of frames in `map` at the time of a picture, from /tf and /tf_static."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from tf2_msgs.msg import TFMessage

from planner.ros import qos
from planner.ros.conversions import point_m, seconds
from planner.ros.serialized import first_stamp_of
from planner.world.geometry import Pose

ROOT = "map"
# Messages, and links of each frame, that are kept: over four seconds at the bridge's 30 Hz.
_KEPT = 128
# A link this far from the asked time still tells where a frame was.
TOLERANCE_S = 0.02
# Messages of several senders come in any order within so long.
_DISORDER_S = 0.2
_DEEPEST = 16
_BACKWARDS_S = 0.5


class FrameTree:
    """Listens to the frames; `newest_s` is the stamp heard last on /tf, None before any.

    `went_back` tells that it lies well before an earlier one: the world's time began anew.

    Messages of /tf are read only when a pose of about their time is asked for.
    """

    def __init__(self, node: Node, on_change: Callable[[], None]) -> None:
        """Subscribes to both topics; `on_change` is called after each message on /tf."""
        self._on_change = on_change
        self._unread: deque[tuple[float, bytes]] = deque(maxlen=_KEPT)
        self._links: dict[str, deque[tuple[float, TransformStamped]]] = {}
        self._fixed: dict[str, TransformStamped] = {}
        self.newest_s: float | None = None
        self._greatest_s = -math.inf
        node.create_subscription(TFMessage, "/tf", self._on_links, qos.TF, raw=True)
        node.create_subscription(TFMessage, "/tf_static", self._on_fixed, qos.TF_STATIC)

    def pose(self, frame: str, stamp_s: float) -> Pose | None:
        """The pose of a frame in `map` at `stamp_s`; None while that is not known (yet)."""
        self._read_near(stamp_s)
        found = Pose((0.0, 0.0, 0.0))
        for _ in range(_DEEPEST):
            if frame == ROOT:
                return found
            link = self._link(frame, stamp_s)
            if link is None:
                return None
            found = _pose(link).compose(found)
            frame = link.header.frame_id
        return None

    @property
    def went_back(self) -> bool:
        """Whether the last stamp is so much before the greatest that a new world tells it."""
        return self.newest_s is not None and self.newest_s < self._greatest_s - _BACKWARDS_S

    def forget(self) -> None:
        """Drops what was heard: the world's time began anew."""
        self._unread.clear()
        self._links.clear()
        self.newest_s, self._greatest_s = None, -math.inf

    def _link(self, frame: str, stamp_s: float) -> TransformStamped | None:
        fixed = self._fixed.get(frame)
        if fixed is not None:
            return fixed
        links = self._links.get(frame, ())
        near = [link for link in links if abs(link[0] - stamp_s) <= TOLERANCE_S]
        return min(near, key=lambda link: abs(link[0] - stamp_s))[1] if near else None

    def _on_links(self, data: bytes) -> None:
        stamp_s = first_stamp_of(data)
        if stamp_s is not None:
            self._unread.append((stamp_s, data))
            self.newest_s = stamp_s
            self._greatest_s = max(self._greatest_s, stamp_s)
            self._on_change()

    def _read_near(self, stamp_s: float) -> None:
        # The newest come last, and what is asked for is new: little is looked at.
        others: list[tuple[float, bytes]] = []
        near: list[tuple[float, bytes]] = []
        while self._unread and self._unread[-1][0] >= stamp_s - _DISORDER_S:
            item = self._unread.pop()
            (near if abs(item[0] - stamp_s) <= TOLERANCE_S else others).append(item)
        self._unread.extend(reversed(others))
        for item in reversed(near):
            for link in deserialize_message(item[1], TFMessage).transforms:
                links = self._links.setdefault(link.child_frame_id, deque(maxlen=_KEPT))
                links.append((seconds(link.header.stamp), link))

    def _on_fixed(self, message: TFMessage) -> None:
        for link in message.transforms:
            self._fixed[link.child_frame_id] = link


def _pose(link: TransformStamped) -> Pose:
    turn = link.transform.rotation
    return Pose(
        point_m(link.transform.translation),
        (float(turn.x), float(turn.y), float(turn.z), float(turn.w)),
    )
