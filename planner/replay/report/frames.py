"""Where the agents are on the map: /tf parsed by byte offsets, chained from map to each base.

Odometry alone is not enough: its frame drifts, or starts wherever the robot was switched on.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.world.geometry import Pose

MAP = "map"
# Names of an agent's base frame, in order of preference.
_BASES = ("base_link", "body")
_U32 = struct.Struct("<I").unpack_from
_STAMP = struct.Struct("<iI").unpack_from
_SEVEN = struct.Struct("<7d").unpack_from
_ENCAPSULATION = 4
_CDR_LITTLE_ENDIAN = b"\x00\x01"
_MAX_CHAIN = 32
_MAX_TRANSFORMS = 10_000
_MAX_DISTANCE_M = 1e6
# A point of a path is kept if the agent moved or turned this far, or after this time.
_MOVED_M, _TURNED_RAD, _STILL_S = 0.03, math.radians(6.0), 5.0


@dataclass(frozen=True, slots=True)
class _Slot:
    """The byte offset of one transform in messages of one layout."""

    parent: str
    child: str
    at: int


@dataclass(frozen=True, slots=True)
class _Layout:
    """Messages with the same frames at the same offsets: what to compare, and what to read."""

    texts: tuple[tuple[int, bytes], ...]
    slots: tuple[_Slot, ...]

    def fits(self, data: memoryview) -> bool:
        return all(data[at : at + len(text)] == text for at, text in self.texts)


@dataclass(frozen=True, slots=True)
class PathPoint:
    """An agent's position: the message's receipt and stamp, and the planar pose on the map."""

    received_ns: int
    stamp_s: float
    x_m: float
    y_m: float
    yaw_rad: float


class FrameTree:
    """The newest transforms, and the paths of the agents' bases on the map.

    Attributes:
        paths: of each agent whose base is connected to the map.
    """

    def __init__(self, agents: Iterable[str], period_s: float = 0.1) -> None:
        """Makes a tree without frames.

        Args:
            agents: their names, which are the first part of their frames' names.
            period_s: minimum time between two readings of the same frames, by their stamps.
        """
        self._period_s = period_s
        self._agents = tuple(agents)
        self._parents: dict[str, tuple[str, Pose]] = {}
        self._layouts: dict[int, _Layout] = {}
        self._last_s: dict[int, float] = {}
        self.paths: dict[str, list[PathPoint]] = {}

    def take_static(self, received_ns: int, data: memoryview) -> None:
        """Takes a message of /tf_static.

        Raises:
            ValueError: if the bytes are no TFMessage.
        """
        del received_ns
        self._take(data)

    def take(self, received_ns: int, data: memoryview) -> None:
        """Takes a message of /tf; skips frames that were just read.

        Raises:
            ValueError: if the bytes are no TFMessage.
        """
        stamp_s = _first_stamp(data)
        if stamp_s is None:
            return
        last_s = self._last_s.get(len(data))
        if last_s is not None and 0.0 <= stamp_s - last_s < self._period_s:
            return
        self._last_s[len(data)] = stamp_s
        self._take(data)
        for agent in self._agents:
            self._follow(agent, received_ns, stamp_s)

    def _take(self, data: memoryview) -> None:
        layout = self._layouts.get(len(data))
        try:
            if layout is None or not layout.fits(data):
                layout = _layout_of(bytes(data))
                self._layouts[len(data)] = layout
            for slot in layout.slots:
                x, y, z, *turn = _SEVEN(data, slot.at)
                qx, qy, qz, qw = turn
                # Skip what is neither a rotation nor a place in a house, NaN included.
                if 0.9 < math.hypot(*turn) < 1.1 and math.hypot(x, y, z) < _MAX_DISTANCE_M:
                    self._parents[slot.child] = (slot.parent, Pose((x, y, z), (qx, qy, qz, qw)))
        except struct.error as error:
            raise ValueError(f"no TFMessage: {error}") from None

    def in_map(self, frame: str) -> Pose | None:
        """A frame's pose in the map by the newest transforms; None if it is not connected."""
        pose = Pose((0.0, 0.0, 0.0))
        for _ in range(_MAX_CHAIN):
            if frame == MAP:
                return pose
            above = self._parents.get(frame)
            if above is None:
                return None
            frame, transform = above
            pose = transform.compose(pose)
        return None

    def _follow(self, agent: str, received_ns: int, stamp_s: float) -> None:
        poses = (self.in_map(f"{agent}/{base}") for base in _BASES)
        pose = next((pose for pose in poses if pose is not None), None)
        if pose is None:
            return
        x, y, _ = pose.position_m
        add_point(
            self.paths.setdefault(agent, []), PathPoint(received_ns, stamp_s, x, y, pose.yaw_rad)
        )


def add_point(path: list[PathPoint], point: PathPoint) -> None:
    """Adds a point to a path if it differs from the last one, or the last one is old."""
    if path:
        last = path[-1]
        turned = math.remainder(point.yaw_rad - last.yaw_rad, math.tau)
        moved = math.hypot(point.x_m - last.x_m, point.y_m - last.y_m)
        still = 0.0 <= point.stamp_s - last.stamp_s < _STILL_S
        if moved < _MOVED_M and abs(turned) < _TURNED_RAD and still:
            return
    path.append(point)


def thinned(path: Sequence[PathPoint], max_points: int) -> list[PathPoint]:
    """At most this many points of a path, including the first and the last."""
    if len(path) <= max_points:
        return list(path)
    step = (len(path) - 1) / (max_points - 1)
    return [path[round(i * step)] for i in range(max_points)]


def _first_stamp(data: memoryview) -> float | None:
    """The stamp of a TFMessage's first transform; None if it has no transform."""
    if data[:2] != _CDR_LITTLE_ENDIAN:
        raise ValueError("no TFMessage: not little-endian CDR")
    try:
        if not _U32(data, _ENCAPSULATION)[0]:
            return None
        seconds, nanoseconds = _STAMP(data, _ENCAPSULATION + 4)
    except struct.error as error:
        raise ValueError(f"no TFMessage: {error}") from None
    return float(seconds + nanoseconds * 1e-9)


def _layout_of(data: bytes) -> _Layout:
    """Finds the offsets in a serialised TFMessage."""
    if data[:2] != _CDR_LITTLE_ENDIAN:
        raise ValueError("no TFMessage: not little-endian CDR")
    (count,) = _U32(data, _ENCAPSULATION)
    if count > _MAX_TRANSFORMS:
        raise ValueError(f"no TFMessage: {count} transforms")
    at = _ENCAPSULATION + 4
    texts, slots = [(_ENCAPSULATION, data[_ENCAPSULATION : _ENCAPSULATION + 4])], []
    for _ in range(count):
        at = _aligned(at, 4) + 8
        begin, (parent, end) = at, _text(data, at)
        texts.append((begin, data[begin:end]))
        # Padding between two strings is arbitrary.
        begin = _aligned(end, 4)
        child, at = _text(data, begin)
        texts.append((begin, data[begin:at]))
        at = _aligned(at, 8)
        slots.append(_Slot(parent, child, at))
        at += 56
    if at > len(data):
        raise ValueError("no TFMessage: it is cut off")
    return _Layout(tuple(texts), tuple(slots))


def _aligned(at: int, size: int) -> int:
    """The next offset aligned for a number of this size; alignment starts after 4 bytes."""
    return at + (-(at - _ENCAPSULATION) % size)


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = _U32(data, at)
    at += 4
    if length < 1 or at + length > len(data):
        raise ValueError("no TFMessage: a name is cut off")
    name = data[at : at + length - 1].decode("utf-8", "replace")
    return name.removeprefix("/"), at + length
