"""The poses of frames in `map` at the time of an image, from messages of /tf and /tf_static.

Messages are accessed by their fields, so the same code works with rclpy and with bags.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from planner.world.geometry import Pose
from planner.world.memory_wire import stamp_seconds
from planner.world.serialized import first_child_of

ROOT = "map"
# Messages, and links of each frame, that are kept: over four seconds at the bridge's 30 Hz.
_MAX_LINKS = 128
# Maximum difference between a link's stamp and the requested time.
TOLERANCE_S = 0.02
# Maximum disorder of messages from several publishers.
_MAX_DISORDER_S = 0.2
_MAX_DEPTH = 16
# The bridge's messages begin with a frame of an agent.
_AGENTS = re.compile(r"agent_\d+/")
_BACKWARDS_S = 0.5
# A robot's stamps are the time of day, which does not start again; frames of the time of a picture
# that comes late are a few seconds old. Only a clock that was set back by more is another world.
_TIME_OF_DAY_S = 1e8
_SET_BACK_S = 10.0

# Reads the transforms of a serialised tf2_msgs/TFMessage.
ReadLinks = Callable[[bytes], Iterable[Any]]


def is_ours(data: bytes | bytearray) -> bool:
    """Whether a serialised message of /tf has frames of agents, not those of other software.

    Those may be of another clock, and come so often that none of ours would be kept.

    Raises:
        ValueError: if the data are too short.
    """
    return _AGENTS.match(first_child_of(data)) is not None


class FrameLinks:
    """Stores the links between frames; messages of /tf are parsed only when needed.

    Attributes:
        newest_s: the last stamp on /tf, None before any.
    """

    def __init__(self, read: ReadLinks) -> None:
        """`read` parses a message of /tf."""
        self._read = read
        self._unread: deque[tuple[float, bytes]] = deque(maxlen=_MAX_LINKS)
        self._links: dict[str, deque[tuple[float, Any]]] = {}
        self._static: dict[str, Any] = {}
        self.newest_s: float | None = None
        self._max_stamp_s = -math.inf
        # Whether frames of a late picture's time have come, so that stamps are in no order.
        self._is_disordered = False

    def pose(self, frame: str, stamp_s: float) -> Pose | None:
        """The pose of a frame in `map` at `stamp_s`; None while it is not known (yet)."""
        self._read_near(stamp_s)
        found = Pose((0.0, 0.0, 0.0))
        for _ in range(_MAX_DEPTH):
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
        """Whether stamps jumped back so far that the world must have been restarted."""
        newest_s = self.newest_s
        if newest_s is None:
            return False
        back_s = _SET_BACK_S if newest_s > _TIME_OF_DAY_S else _BACKWARDS_S
        return newest_s < self._max_stamp_s - back_s

    def forget(self) -> None:
        """Clears everything, since the world's time was reset."""
        self._unread.clear()
        self._links.clear()
        self.newest_s, self._max_stamp_s, self._is_disordered = None, -math.inf, False

    def add(self, stamp_s: float, data: bytes) -> None:
        """Adds a serialised message of /tf with the stamp of its first link; see `is_ours`."""
        self._unread.append((stamp_s, data))
        self.newest_s = stamp_s
        self._is_disordered |= stamp_s < self._max_stamp_s - _MAX_DISORDER_S
        self._max_stamp_s = max(self._max_stamp_s, stamp_s)

    def add_static(self, links: Iterable[Any]) -> None:
        """Adds the transforms of a message of /tf_static."""
        for link in links:
            self._static[link.child_frame_id] = link

    def _link(self, frame: str, stamp_s: float) -> Any:
        static = self._static.get(frame)
        if static is not None:
            return static
        links = self._links.get(frame, ())
        near = [link for link in links if abs(link[0] - stamp_s) <= TOLERANCE_S]
        return min(near, key=lambda link: abs(link[0] - stamp_s))[1] if near else None

    def _read_near(self, stamp_s: float) -> None:
        # Searched from the newest, since requests are usually for recent times.
        others: list[tuple[float, bytes]] = []
        near: list[tuple[float, bytes]] = []
        earliest_s = -math.inf if self._is_disordered else stamp_s - _MAX_DISORDER_S
        while self._unread and self._unread[-1][0] >= earliest_s:
            item = self._unread.pop()
            (near if abs(item[0] - stamp_s) <= TOLERANCE_S else others).append(item)
        self._unread.extend(reversed(others))
        for item in reversed(near):
            for link in self._read(item[1]):
                links = self._links.setdefault(link.child_frame_id, deque(maxlen=_MAX_LINKS))
                links.append((stamp_seconds(link.header.stamp), link))


def _pose(link: Any) -> Pose:
    at, turn = link.transform.translation, link.transform.rotation
    return Pose(
        (float(at.x), float(at.y), float(at.z)),
        (float(turn.x), float(turn.y), float(turn.z), float(turn.w)),
    )
