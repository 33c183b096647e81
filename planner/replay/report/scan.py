"""One pass through a bag: the messages read, statistics of topics, and problems."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.recorder.topic_counts import Gap as MissedGap
from planner.replay.bag import Bag
from planner.replay.report.document import Fault, Gap, Level, Topic
from planner.replay.report.messages import MALFORMED, Event, LogLine, Status, read_event
from planner.replay.report.tracks import WorldClock
from planner.replay.storage import SequenceGaps, merged, message_reader, short

T = TypeVar("T")
TakeBytes = Callable[[int, memoryview], None]
# Minimum time between two calls of `progress`.
_PROGRESS_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result of a pass.

    Attributes:
        received_ns: by topic, receipts of all messages, in the order of the bag.
        sequences: by topic, each message's sequence number.
        events: by topic, the messages that were read by their fields.
        unreadable: by topic, the number of unreadable messages and the reason for the first.
    """

    received_ns: Mapping[str, array[int]]
    sequences: Mapping[str, array[int]]
    events: Mapping[str, Sequence[Event[Any]]]
    unreadable: Mapping[str, tuple[int, str]]

    def of(self, topic: str, kind: type[T]) -> list[Event[T]]:
        """The events of a topic of one kind; empty if there are none."""
        return [event for event in self.events.get(topic, ()) if isinstance(event.content, kind)]


@dataclass(slots=True)
class Plan:
    """How to read each topic; topics in neither mapping are only counted.

    Attributes:
        fields: functions that convert a topic's messages.
        bytes_of: functions that take a message's bytes, which are valid during the call only.
    """

    fields: dict[str, Callable[[Any], object]] = field(default_factory=dict)
    bytes_of: dict[str, TakeBytes] = field(default_factory=dict)


def scan(bag: Bag, plan: Plan, progress: Callable[[int], None] = lambda _: None) -> Scanned:
    """Reads a bag once.

    Args:
        bag: to read.
        plan: what to keep of it.
        progress: called from time to time with the current time of receipt.

    Raises:
        FileError: if the file cannot be read.
    """
    received: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    sequences: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
    events: dict[str, list[Event[object]]] = {topic: [] for topic in plan.fields}
    unreadable: dict[str, tuple[int, str]] = {}
    reported_ns = 0
    for topic, (_, sequence, received_ns, _, data) in bag.every():
        received[topic].append(received_ns)
        sequences[topic].append(sequence)
        if received_ns - reported_ns > _PROGRESS_NS:
            reported_ns = received_ns
            progress(received_ns)
        take, read = plan.bytes_of.get(topic), plan.fields.get(topic)
        if take is None and read is None:
            continue
        try:
            if take is not None:
                take(received_ns, data)
            if read is not None:
                info = bag.topics[topic]
                content = message_reader(info.type_name, info.definition)(bytes(data))
                events[topic].append(read_event(read, received_ns, content))
        except MALFORMED as error:
            count, reason = unreadable.get(topic, (0, short(error)))
            unreadable[topic] = (count + 1, reason)
    return Scanned(received, sequences, events, unreadable)


# Statistics of topics: counts over time, rates, and missing messages.

_PARTS = 120
# A silence is a gap if it is this many times longer than usual, and at least this long.
_UNUSUAL, _MIN_GAP_S = 10.0, 2.0
# Less regular topics than this have no usual period.
_IRREGULAR = 3.0
_MAX_GAPS = 50
_FEW = 20


def missed_messages(bag: Bag, scanned: Scanned) -> dict[str, tuple[MissedGap, ...]]:
    """The gaps of each topic that has any, as `Bag.gaps` finds them.

    Raises:
        FileError: if the recorder's own records cannot be read.
    """
    found = {}
    for topic in sorted({*bag.topics, *bag.noted_topics}):
        gaps = list(bag.recorded_gaps(topic))
        sequences = np.asarray(scanned.sequences.get(topic, ()), np.int64)
        if bag.is_numbered(topic) and bool(np.any(np.diff(sequences) > 1)):
            jumps = SequenceGaps(topic)
            rows = zip(scanned.sequences[topic], scanned.received_ns[topic], strict=True)
            gaps += [gap for row in rows if (gap := jumps.take(*row)) is not None]
        if gaps:
            found[topic] = merged(gaps)
    return found


def topics_of(
    bag: Bag, scanned: Scanned, missed: Mapping[str, Sequence[MissedGap]]
) -> tuple[Topic, ...]:
    """Every topic of the bag by name."""
    return tuple(
        _topic(
            name,
            bag.topics[name].type_name,
            np.sort(np.asarray(scanned.received_ns.get(name, ()), np.int64)),
            missed.get(name, ()),
            scanned.unreadable.get(name, (0, ""))[0],
            (bag.start_ns, bag.end_ns),
        )
        for name in sorted(bag.topics)
    )


def _topic(
    name: str,
    type_name: str,
    received_ns: NDArray[np.int64],
    missed: Sequence[MissedGap],
    unreadable: int,
    span_ns: tuple[int, int],
) -> Topic:
    start_ns, end_ns = span_ns
    since_s = (received_ns - start_ns) * 1e-9
    steps_s = np.diff(since_s)
    counts, _ = np.histogram(
        since_s, bins=_PARTS, range=(0.0, max((end_ns - start_ns) * 1e-9, 1e-9))
    )
    longest = int(steps_s.argmax()) if len(steps_s) else None
    lasted_s = float(since_s[-1] - since_s[0]) if len(since_s) > 1 else 0.0
    gaps = [
        Gap(_since_s(gap.from_ns, start_ns), _since_s(gap.to_ns, start_ns), gap.missing)
        for gap in missed
    ]
    gaps += _silences(since_s, steps_s)
    return Topic(
        name=name,
        type_name=type_name,
        messages=len(received_ns),
        rate_hz=round((len(received_ns) - 1) / lasted_s, 3) if lasted_s > 0 else None,
        median_s=round(float(np.median(steps_s)), 4) if len(steps_s) else None,
        longest_s=None if longest is None else round(float(steps_s[longest]), 3),
        longest_at_s=None if longest is None else round(float(since_s[longest]), 3),
        counts=tuple(int(count) for count in counts),
        gaps=tuple(sorted(gaps, key=lambda gap: gap.from_s)[:_MAX_GAPS]),
        unreadable=unreadable,
    )


def _since_s(at_ns: int, start_ns: int) -> float:
    return round(max(at_ns - start_ns, 0) * 1e-9, 3)


def _silences(since_s: NDArray[np.floating], steps_s: NDArray[np.floating]) -> list[Gap]:
    """Far longer pauses than usual in a regular topic."""
    if len(steps_s) < _FEW:
        return []
    usual, slow = np.quantile(steps_s, (0.5, 0.95))
    if slow > _IRREGULAR * max(usual, 1e-3):
        return []
    long = np.flatnonzero(steps_s > max(_UNUSUAL * usual, _MIN_GAP_S))
    return [Gap(round(float(since_s[i]), 3), round(float(since_s[i + 1]), 3), None) for i in long]


# Problems: diagnostics, the log, refused commands, restarts, unreadable messages.

DIAGNOSTICS = "/diagnostics"
LOG = "/rosout"
RECEIPTS = "/safety/receipts"
_MAX_FAULTS = 500

Kind = Literal["diagnostics", "log", "refused", "restart", "unreadable"]


@dataclass(slots=True)
class _Occurrences:
    first_s: float
    last_s: float
    count: int = 1


@dataclass(slots=True)
class FaultList:
    """Collects problems; equal ones are merged, with their count, first and last time."""

    _seen: dict[tuple[Kind, Level, str, str], _Occurrences] = field(default_factory=dict)

    def add(self, kind: Kind, level: Level, source: str, text: str, t_s: float) -> None:
        """Adds one occurrence."""
        key = (kind, level, source, text)
        seen = self._seen.get(key)
        if seen is None:
            self._seen[key] = _Occurrences(t_s, t_s)
            return
        seen.first_s, seen.last_s = min(seen.first_s, t_s), max(seen.last_s, t_s)
        seen.count += 1

    def listed(self) -> tuple[Fault, ...]:
        """In the order of their first occurrence, errors before warnings at the same time."""
        found = [
            Fault(kind, level, source, text, seen.first_s, seen.last_s, seen.count)
            for (kind, level, source, text), seen in self._seen.items()
        ]
        found.sort(key=lambda f: (f.first_s, f.level is not Level.ERROR, f.kind, f.source, f.text))
        return tuple(found[:_MAX_FAULTS])


def faults_of(scanned: Scanned, clock: WorldClock) -> tuple[Fault, ...]:
    """All problems in a bag."""
    faults = FaultList()
    for reports in scanned.of(DIAGNOSTICS, tuple):
        t_s = clock.at(reports.stamp_s, reports.received_ns)
        for status in reports.content:
            if status.level is not None:
                faults.add("diagnostics", status.level, status.name, status.message, t_s)
    for line in scanned.of(LOG, LogLine):
        said = line.content
        if said.level is not None:
            t_s = clock.at(line.stamp_s, line.received_ns)
            faults.add("log", said.level, said.name, said.text, t_s)
    for topic in scanned.events:
        for receipt in scanned.of(topic, Status) if topic.endswith(RECEIPTS) else ():
            said_of = receipt.content
            if said_of.level is not None:
                t_s = clock.at_receipt(receipt.received_ns)
                faults.add("refused", said_of.level, said_of.name, _refusal(said_of), t_s)
    for restart in clock.restarts:
        text = f"the world's clock went back from {restart.from_stamp_s:g} s to "
        text += f"{restart.to_stamp_s:g} s: the world was loaded again"
        faults.add("restart", Level.WARNING, "clock", text, restart.t_s)
    for topic, (count, reason) in sorted(scanned.unreadable.items()):
        text = f"{count} messages could not be read: {reason}"
        faults.add("unreadable", Level.ERROR, topic, text, 0.0)
    return faults.listed()


def _refusal(receipt: Status) -> str:
    rule = receipt.values.get("rule", "")
    return f"{receipt.message} (rule {rule})" if rule else receipt.message
