"""What is published when: the messages of one pass through a bag, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from planner.replay.bag import Bag
from planner.replay.player.in_order import in_order, last_of_each
from planner.replay.states import STATES, updates_before

CLOCK = "/clock"
TF_STATIC = "/tf_static"


class CueKind(Enum):
    """What is to be done with a cue."""

    BEGIN = auto()  # the time of the bag becomes this moment
    STATE = auto()  # what stood before that moment: sent at once
    MESSAGE = auto()  # sent at its moment
    END = auto()  # the pass ends when this moment is reached


@dataclass(frozen=True, slots=True)
class Cue:
    """One thing that happens in a pass.

    Attributes:
        kind: what is to be done.
        stamp_ns: when, on the bag's receipt clock.
        topic: in the bag; "" where nothing is sent.
        data: the message in CDR.
        raw: of a compressed picture the raw one, where that was unpacked already.
    """

    kind: CueKind
    stamp_ns: int
    topic: str = ""
    data: bytes = b""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a bag that is played, from a moment up to another and with it."""

    start_ns: int
    end_ns: int


def passes(bag: Bag, topics: Mapping[str, bool], span: Span, *, loop: bool) -> Iterator[Cue]:
    """The cues of one pass, or of one after the other without end; see `one_pass`."""
    while True:
        yield from one_pass(bag, topics, span)
        if not loop:
            return


def one_pass(bag: Bag, topics: Mapping[str, bool], span: Span) -> Iterator[Cue]:
    """The cues of one pass.

    Args:
        bag: to play.
        topics: those to play; whether each is latched.
        span: what to play of it. Before its first message comes what stood then: the last message
            of each latched topic and of `/clock`, of `/world/state` the newest keyframe and what
            follows it, and of `/tf_static` every one, because each of its publishers tells its
            own frames.

    Raises:
        FileError: if the bag cannot be read.
    """
    yield Cue(CueKind.BEGIN, span.start_ns)
    yield from _state_before(bag, topics, span.start_ns)
    for message in in_order(bag, tuple(topics), span.start_ns, span.end_ns + 1):
        yield Cue(CueKind.MESSAGE, message.received_ns, message.topic, message.data)
    yield Cue(CueKind.END, span.end_ns)


def _state_before(bag: Bag, topics: Mapping[str, bool], start_ns: int) -> Iterator[Cue]:
    standing = [
        topic
        for topic, latched in topics.items()
        if (latched or topic == CLOCK) and topic != TF_STATIC
    ]
    before = list(last_of_each(bag, standing, start_ns).values())
    if STATES in standing:
        # The last message may be a change, which is of no use without what it changes.
        before = [message for message in before if message.topic != STATES]
        before += updates_before(bag, start_ns)
    if TF_STATIC in topics:
        before += in_order(bag, (TF_STATIC,), bag.start_ns, start_ns)
    for message in sorted(before, key=lambda message: message.received_ns):
        yield Cue(CueKind.STATE, message.received_ns, message.topic, message.data)
