"""Reads messages of the memory and of frames into records, live or from a bag, without ROS."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from planner.world.belief import Edit, Entity, MemoryChange, OperationKind, Source
from planner.world.geometry import Pose, Vec3
from planner.world.observation import Sighting
from planner.world.skill import SkillCode, SkillResult
from planner.world.wire import first_child_of, hands_record

# The constants of Operation.msg.
OPERATION_KINDS: Mapping[int, OperationKind] = {
    0: OperationKind.ADD,
    1: OperationKind.UPDATE,
    2: OperationKind.REMOVE,
}


def stamp_seconds(stamp: Any) -> float:
    """Seconds of a builtin_interfaces/Time."""
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9


def entity_record(message: Any) -> Entity:
    """The entity in a planner_msgs/Entity; its class is derived from its name."""
    seen_s = stamp_seconds(message.seen)
    distance_m = float(message.seen_distance_m)
    at = message.position
    return Entity(
        entity_id=int(message.id),
        name=message.name,
        class_name=message.name.rpartition("_")[0],
        is_furniture=bool(message.is_furniture),
        description=message.description,
        position_m=(float(at.x), float(at.y), float(at.z)),
        seen_distance_m=None if math.isnan(distance_m) else distance_m,
        picked=bool(message.picked),
        room=message.room or None,
        source=Source.SEEN if seen_s else Source.TOLD,
        stamp_s=seen_s,
        seen_s=seen_s or None,
    )


def sightings_record(message: Any) -> tuple[Sighting, ...]:
    """The sightings in a planner_msgs/EntityList of a world without pictures.

    There are no pixels: what is seen at all is seen whole, in the middle of the view.
    """
    return tuple(
        Sighting(
            seen.name,
            1.0,
            float(seen.seen_distance_m),
            (0.0, 0.0),
            (float(seen.position.x), float(seen.position.y), float(seen.position.z)),
        )
        for seen in message.entities
    )


def change_record(message: Any) -> MemoryChange:
    """The numbered change in a planner_msgs/MemoryUpdate; entities as in `entity_record`.

    Raises:
        KeyError: for an unknown kind of operation.
    """
    return MemoryChange(
        sequence=int(message.sequence),
        stamp_s=stamp_seconds(message.header.stamp),
        author=message.source,
        edits=tuple(
            Edit(OPERATION_KINDS[int(operation.kind)], entity_record(operation.entity))
            for operation in message.operations
        ),
    )


def result_record(message: Any) -> SkillResult:
    """The result in a planner_msgs/SkillReport or a result of ExecuteSkill.

    Raises:
        ValueError: for an unknown code.
    """
    evidence = {str(item.key): str(item.value) for item in message.evidence}
    result = SkillResult(SkillCode(int(message.code)), message.text, evidence)
    if not hasattr(message, "has_position"):
        return _from_evidence(result)
    at = message.position
    position_m = (float(at.x), float(at.y), float(at.z))
    return replace(
        result,
        position_m=position_m if message.has_position and _all_finite(position_m) else None,
        hands=hands_record(message) if message.has_holding else None,
        duration_s=_known(float(message.duration_s)),
        part_of=str(getattr(message, "part_of", "")),
        rule=int(message.rule),
        ended_s=_ended_s(message),
    )


def _ended_s(message: Any) -> float | None:
    """A SkillReport has a header instead."""
    stamp = message.stamp if hasattr(message, "stamp") else message.header.stamp
    return stamp_seconds(stamp) or None


def duration_of(message: Any) -> float | None:
    """The duration of the call in a planner_msgs/SkillReport, seconds; None = unknown."""
    if hasattr(message, "duration_s"):
        return _known(float(message.duration_s))
    return _known_text({str(item.key): str(item.value) for item in message.evidence})


def _from_evidence(result: SkillResult) -> SkillResult:
    """The fields of a result from an older bag, which has them only as text in the evidence."""
    words = result.evidence.get("position_m", "").split(",")
    try:
        x, y, z = (float(word) for word in words)
        position_m: Vec3 | None = (x, y, z) if _all_finite((x, y, z)) else None
    except ValueError:
        position_m = None
    holding = result.evidence.get("holding")
    return replace(
        result,
        position_m=position_m,
        hands=None if holding is None else (holding,) if holding else (),
        duration_s=_known_text(result.evidence),
        part_of=result.evidence.get("part_of", ""),
    )


def _known_text(evidence: Mapping[str, str]) -> float | None:
    try:
        return _known(float(evidence.get("sim_seconds", "nan")))
    except ValueError:
        return None


def _known(duration_s: float) -> float | None:
    return duration_s if math.isfinite(duration_s) and duration_s >= 0 else None


def _all_finite(point_m: Vec3) -> bool:
    return all(map(math.isfinite, point_m))


# The poses of frames in `map` at the time of an image, from messages of /tf and /tf_static.
#
# Messages are accessed by their fields, so the same code works with rclpy and with bags.

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
