"""Where the frames of a robot of others were at a time of its clock, from /tf and odometry.

A driver or an estimator may be in another thread than the one that asks: all calls are safe then.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

from planner.world.geometry import Pose

# Seconds of a frame's past that are kept.
KEPT_S = 5.0
# Samples of one frame that are kept at most, whatever its rate.
_MAX_SAMPLES = 2000
_HERE = Pose((0.0, 0.0, 0.0))


class PoseHistory:
    """The poses of one frame in its parent during the last `KEPT_S`, by stamp."""

    def __init__(self) -> None:
        """Starts empty."""
        self._stamps_s: list[float] = []
        self._poses: list[Pose] = []
        self._lock = threading.Lock()

    def add(self, stamp_s: float, pose: Pose) -> None:
        """Adds a sample; the second one of a stamp replaces the first.

        A stamp that is more than `KEPT_S` before the newest is of a clock that was set back: what
        was known is forgotten.
        """
        with self._lock:
            stamps_s = self._stamps_s
            if stamps_s and stamp_s < stamps_s[-1] - KEPT_S:
                stamps_s.clear()
                self._poses.clear()
            at = bisect_left(stamps_s, stamp_s)
            if at < len(stamps_s) and stamps_s[at] == stamp_s:
                self._poses[at] = pose
                return
            stamps_s.insert(at, stamp_s)
            self._poses.insert(at, pose)
            old = bisect_left(stamps_s, stamps_s[-1] - KEPT_S)
            old = max(old, len(stamps_s) - _MAX_SAMPLES)
            del stamps_s[:old], self._poses[:old]

    @property
    def newest_s(self) -> float | None:
        """The newest stamp; None before any."""
        with self._lock:
            return self._stamps_s[-1] if self._stamps_s else None

    def at(self, stamp_s: float | None, hold_s: float = 0.0) -> Pose | None:
        """The pose at a time, interpolated between the samples around it.

        Args:
            stamp_s: of the robot's clock; None = the newest sample.
            hold_s: for how long after the newest sample that one holds.

        Returns:
            None for a time before the samples, or more than `hold_s` after them.
        """
        with self._lock:
            if not self._stamps_s:
                return None
            if stamp_s is None:
                return self._poses[-1]
            after = bisect_right(self._stamps_s, stamp_s)
            if after == 0:
                return None
            before_s, before = self._stamps_s[after - 1], self._poses[after - 1]
            if after == len(self._stamps_s):
                return before if stamp_s <= before_s + hold_s else None
            share = (stamp_s - before_s) / (self._stamps_s[after] - before_s)
            return before.toward(self._poses[after], share)


class FrameHistory:
    """A tree of frames: those of /tf with their past, and fixed ones of /tf_static."""

    def __init__(self, fixed: Mapping[str, tuple[str, Pose]] | None = None) -> None:
        """`fixed`: by frame, its parent and its pose in it."""
        self._fixed = dict(fixed or {})
        self._moving: dict[str, tuple[str, PoseHistory]] = {}

    def fix(self, parent: str, child: str, pose: Pose) -> None:
        """Adds a link of /tf_static."""
        self._fixed[child] = (parent, pose)

    def move(self, parent: str, child: str, stamp_s: float, pose: Pose) -> None:
        """Adds a link of /tf; a frame that gets another parent loses its past."""
        known = self._moving.get(child)
        if known is None or known[0] != parent:
            known = self._moving[child] = (parent, PoseHistory())
        known[1].add(stamp_s, pose)

    def pose_in(
        self, parent: str, child: str, at_s: float | None = None, hold_s: float = 0.0
    ) -> Pose | None:
        """A frame in another one at a time; `at_s` and `hold_s` as in `PoseHistory.at`.

        Returns:
            None if they are not connected, or a link between them is not known for that time.
        """
        way, other = self._ancestors(parent), self._ancestors(child)
        shared = next((name for name in other if name in way), None)
        if shared is None:
            return None
        up, down = (self._in_ancestor(names, shared, at_s, hold_s) for names in (way, other))
        return None if up is None or down is None else up.inverse().compose(down)

    def newest_s(self, frame: str) -> float | None:
        """The newest stamp of a frame of /tf; None for a fixed or an unknown one."""
        known = None if frame in self._fixed else self._moving.get(frame)
        return None if known is None else known[1].newest_s

    def connects(self, parent: str, child: str) -> bool:
        """Whether any links, of whatever time, connect two frames."""
        return not set(self._ancestors(parent)).isdisjoint(self._ancestors(child))

    def _ancestors(self, frame: str) -> list[str]:
        """A frame, its parent, and so on; a ring is followed once."""
        names = [frame]
        while (parent := self._parent(names[-1])) is not None and parent not in names:
            names.append(parent)
        return names

    def _parent(self, frame: str) -> str | None:
        known = self._fixed.get(frame) or self._moving.get(frame)
        return None if known is None else known[0]

    def _in_ancestor(
        self, names: list[str], ancestor: str, at_s: float | None, hold_s: float
    ) -> Pose | None:
        pose = _HERE
        for name in names[: names.index(ancestor)]:
            fixed = self._fixed.get(name)
            link = self._moving[name][1].at(at_s, hold_s) if fixed is None else fixed[1]
            if link is None:
                return None
            pose = link.compose(pose)
        return pose
