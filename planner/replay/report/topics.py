"""Statistics of topics: counts over time, rates, and missing messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.replay.bag import Bag
from planner.replay.gaps import Gap as MissedGap
from planner.replay.gaps import SequenceGaps, merged
from planner.replay.report.document import Gap, Topic
from planner.replay.report.scan import Scanned

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
