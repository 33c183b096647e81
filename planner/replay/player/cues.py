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
    """What to do with a cue."""

    BEGIN = auto()  # start the bag's time here
    STATE = auto()  # latched state from before: send at once
    MESSAGE = auto()  # send at its time
    END = auto()  # the pass ends here


@dataclass(frozen=True, slots=True)
class Cue:
    """One event of a pass.

    Attributes:
        kind: what to do.
        stamp_ns: when, on the bag's receipt clock.
        topic: in the bag; "" if nothing is sent.
        data: the message in CDR.
        raw: the raw picture of a compressed one, if it was decompressed already.
    """

    kind: CueKind
    stamp_ns: int
    topic: str = ""
    data: bytes = b""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a bag that is played, both ends included."""

    start_ns: int
    end_ns: int


def passes(bag: Bag, topics: Mapping[str, bool], span: Span, *, loop: bool) -> Iterator[Cue]:
    """The cues of one pass, or of endless passes; see `one_pass`."""
    while True:
        yield from one_pass(bag, topics, span)
        if not loop:
            return


def one_pass(bag: Bag, topics: Mapping[str, bool], span: Span) -> Iterator[Cue]:
    """The cues of one pass.

    Args:
        bag: to play.
        topics: those to play; whether each is latched.
        span: the part to play. Before its first message come the messages that are still valid
            then: the last message of each latched topic and of `/clock`, of `/world/state` the
            newest keyframe and the changes after it, and of `/tf_static` all, because each
            publisher has its own frames.

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
        # The last message may be a change, which is useless without its keyframe.
        before = [message for message in before if message.topic != STATES]
        before += updates_before(bag, start_ns)
    if TF_STATIC in topics:
        before += in_order(bag, (TF_STATIC,), bag.start_ns, start_ns)
    for message in sorted(before, key=lambda message: message.received_ns):
        yield Cue(CueKind.STATE, message.received_ns, message.topic, message.data)
