"""Gaps in a topic's messages: losses noted by the recorder, and jumps in sequence numbers.

MCAP stores a sequence number with each message. A jump means that messages were lost, a decrease
that the publisher was restarted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from planner.replay.storage import Metadatum

# Metadata record that a recorder writes for messages that it knows are missing, with `topic`,
# `from_ns`, `to_ns`, `missing` and perhaps `cause`.
GAP = "planner.gap"
_MAX_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing messages of a topic.

    Attributes:
        from_ns: receipt of the last message before it, or start of the loss; 0 = none.
        to_ns: receipt of the first message after it, or when the loss was noticed.
        missing: how many; 0 = unknown.
        cause: why, as the recorder says; "" = they never arrived.
    """

    topic: str
    from_ns: int
    to_ns: int
    missing: int
    cause: str = ""


class SequenceGaps:
    """Finds jumps in the sequence numbers of a topic's messages."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._last: tuple[int, int] | None = None

    def take(self, sequence: int, received_ns: int) -> Gap | None:
        """Takes the next message; returns the gap before it, if any."""
        last, self._last = self._last, (sequence, received_ns)
        if last is None or sequence <= last[0] + 1:
            return None
        return Gap(self._topic, last[1], received_ns, sequence - last[0] - 1)


def has_one_publisher(qos: str) -> bool:
    """Whether a topic's sequence numbers come from one publisher.

    Args:
        qos: rosbag2's YAML list of the offered profiles, one for each publisher; "" = not recorded,
            as by recorders that number messages themselves.
    """
    return len(re.findall(r"^- ", qos, re.MULTILINE)) <= 1


def recorded_gaps(metadata: Iterable[Metadatum], topic: str) -> list[Gap]:
    """Losses on a topic that the recorder noted.

    Raises:
        ValueError: naming the field of an invalid record.
    """
    found = []
    for record in metadata:
        if record.name == GAP and record.texts.get("topic") == topic:
            begin, end, missing = (_count(record, k) for k in ("from_ns", "to_ns", "missing"))
            found.append(Gap(topic, begin, end, missing, record.texts.get("cause", "")))
    return found


def _count(record: Metadatum, key: str) -> int:
    text = record.texts.get(key, "")
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > _MAX_NS:
        raise ValueError(f"{GAP}.{key}: expected a number of at most 19 digits")
    return int(text)


def merged(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """In the order of time, overlapping gaps merged: they are the same messages."""
    found: list[Gap] = []
    for gap in sorted(gaps, key=lambda g: (g.from_ns, g.to_ns)):
        last = found[-1] if found else None
        if last is not None and gap.from_ns < last.to_ns:
            missing = max(last.missing, gap.missing)
            end, cause = max(last.to_ns, gap.to_ns), last.cause or gap.cause
            found[-1] = Gap(gap.topic, last.from_ns, end, missing, cause)
        else:
            found.append(gap)
    return tuple(found)


def described(gaps: Mapping[str, Sequence[Gap]]) -> list[str]:
    """What is missing of topics, for people: a line for each cause."""
    by_cause: dict[str, list[Gap]] = defaultdict(list)
    for several in gaps.values():
        for gap in merged(several):
            by_cause[gap.cause].append(gap)
    lines = []
    for cause, found in sorted(by_cause.items()):
        count, names = sum(gap.missing for gap in found), sorted({gap.topic for gap in found})
        where = f"of {names[0]}" if len(names) == 1 else f"of {len(names)} topics"
        since = min(gap.from_ns for gap in found)
        begin = f"between {moment(since)} and" if since else "before"
        end = moment(max(gap.to_ns for gap in found))
        lines.append(f"{count} messages {where} {begin} {end}: {cause or 'they never arrived'}")
    return lines


def moment(nanoseconds: int) -> str:
    """Wall-clock time as UTC, or in nanoseconds if out of range."""
    try:
        found = datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{nanoseconds} ns"
    return found.isoformat(timespec="milliseconds")
