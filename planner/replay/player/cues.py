"""What is published when: a bag's messages in the order of time, read ahead of playback.

Whatever reads a bag raises FileError if it cannot be read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from threading import Condition, Thread

from planner.replay.bag import Bag, RawMessage
from planner.replay.states import STATES, updates_before
from planner.replay.storage import TopicInfo
from planner.world.errors import PlannerError

# The messages of a bag in the order of time, however they were written.

# Messages are read and sorted in windows of this length. A recorder that empties one queue after
# another may write messages out of order within two seconds.
_WINDOW_NS = 2_000_000_000


def in_order(bag: Bag, topics: Sequence[str], start_ns: int, end_ns: int) -> Iterator[RawMessage]:
    """Messages of some topics in the order of receipt, then of writing.

    Args:
        bag: to read.
        topics: their names; empty = no messages.
        start_ns: earliest receipt.
        end_ns: latest receipt, exclusive.
    """
    begin_ns = start_ns
    while topics and begin_ns < end_ns:
        until_ns = min(begin_ns + _WINDOW_NS, end_ns)
        window = list(_read(bag, topics, begin_ns, until_ns))
        if not window:
            # Skip silence of any length, such as from a wrong clock, to the next message, and to
            # those written later but received before it.
            after = next(_read(bag, topics, until_ns, end_ns), None)
            if after is None:
                return
            begin_ns, until_ns = until_ns, after.received_ns + 1
            window = list(_read(bag, topics, begin_ns, until_ns))
        window.sort(key=lambda message: message.received_ns)
        yield from window
        begin_ns = until_ns


def last_of_each(bag: Bag, topics: Sequence[str], end_ns: int) -> dict[str, RawMessage]:
    """The last message of each topic before a time, as far as there is one."""
    found: dict[str, RawMessage] = {}
    until_ns, length_ns = end_ns, _WINDOW_NS
    missing = list(topics)
    # Backwards, in growing steps: most topics have a recent message.
    while missing and until_ns > bag.start_ns:
        begin_ns = max(until_ns - length_ns, bag.start_ns)
        for message in _read(bag, missing, begin_ns, until_ns):
            before = found.get(message.topic)
            if before is None or message.received_ns >= before.received_ns:
                found[message.topic] = message
        missing = [topic for topic in missing if topic not in found]
        until_ns, length_ns = begin_ns, 2 * length_ns
    return found


def _read(bag: Bag, topics: Sequence[str], start_ns: int, end_ns: int) -> Iterator[RawMessage]:
    """Messages of the topic's published type; a bag may hold others too."""
    for message in bag.raw(topics, start_ns=start_ns, end_ns=end_ns):
        info = bag.topics[message.topic]
        if (message.type_name, message.definition) == (info.type_name, info.definition):
            yield message


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


# Raw pictures from bags with compressed ones, for nodes that subscribe to cameras.
#
# A recorder may keep `TOPIC/compressed` or `TOPIC/compressedDepth` instead of `TOPIC`. Such a
# `TOPIC` is offered as well, and its pictures are decompressed if it has subscribers.

IMAGE, COMPRESSED_IMAGE = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_SUFFIXES = ("/compressed", "/compressedDepth")


def raw_topics(topics: Mapping[str, TopicInfo]) -> dict[str, TopicInfo]:
    """The raw topics that a bag lacks, by the topics that have the compressed pictures.

    They have no definition of their own.
    """
    found: dict[str, TopicInfo] = {}
    for source, info in topics.items():
        suffix = next((s for s in _SUFFIXES if source.endswith(s)), None)
        if suffix is None or info.type_name != COMPRESSED_IMAGE:
            continue
        name = source.removesuffix(suffix)
        if name not in topics and all(raw.name != name for raw in found.values()):
            found[source] = replace(info, name=name, type_name=IMAGE, definition="")
    return found


def with_raw_pictures(
    cues: Iterator[Cue], has_subscribers: Callable[[str], bool], unpack: Callable[[bytes], bytes]
) -> Iterator[Cue]:
    """Adds the raw picture to cues of compressed ones.

    Args:
        cues: of a bag.
        has_subscribers: whether the raw form of a compressed topic has subscribers.
        unpack: decompresses a picture, both serialised; a `PlannerError` from it means that its
            data are damaged.
    """
    for cue in cues:
        if cue.data and has_subscribers(cue.topic):
            try:
                yield replace(cue, raw=unpack(cue.data))
                continue
            except PlannerError:
                # Reported when it is sent and cannot be decompressed either.
                pass
        yield cue


# Reads a bag ahead of playback, which must not wait for disk or decompression.

MAX_BYTES = 64 << 20
MAX_CUES = 50_000
_WAIT_S = 0.2


class ReadAhead:
    """Reads cues in a thread of its own and buffers some of them."""

    def __init__(
        self, cues: Iterator[Cue], *, max_bytes: int = MAX_BYTES, max_cues: int = MAX_CUES
    ) -> None:
        """Starts reading.

        Args:
            cues: to read.
            max_bytes: limit of buffered messages; a larger one is buffered alone.
            max_cues: limit of buffered cues.
        """
        self._cues = cues
        self._max_bytes, self._max_cues = max_bytes, max_cues
        self._ready: deque[Cue] = deque()
        self._bytes = 0
        self._ended = False
        self._error: Exception | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._read, name="read-ahead", daemon=True)
        self._thread.start()

    def head(self, timeout_s: float) -> Cue | None:
        """The next cue, which stays the next until `take`; None if none came in time.

        Raises:
            PlannerError: if the bag could not be read further; what was read before it comes first.
        """
        # The writer only appends: the first cue can be read without its lock.
        if self._ready:
            return self._ready[0]
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._ended, timeout_s)
            if self._ready:
                return self._ready[0]
            if self._error is not None:
                raise self._error
            return None

    @property
    def ended(self) -> bool:
        """Whether the last cue was taken."""
        return self._ended and not self._ready

    def take(self) -> None:
        """Advances to the next cue."""
        with self._changed:
            cue = self._ready.popleft()
            self._bytes -= _size(cue)
            if self._bytes <= self._max_bytes // 2 and len(self._ready) <= self._max_cues // 2:
                self._changed.notify()

    def __iter__(self) -> Iterator[Cue]:
        """All cues; waits for each."""
        while True:
            cue = self.head(_WAIT_S)
            if cue is not None:
                self.take()
                yield cue
            elif self.ended:
                return

    def wait_until_full(self, timeout_s: float) -> None:
        """Waits until the buffer is full, or everything was read."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or not self._has_room(), timeout_s)

    def close(self) -> None:
        """Stops reading."""
        with self._changed:
            self._ended = True
            self._ready.clear()
            self._changed.notify_all()
        self._thread.join()

    def _has_room(self) -> bool:
        return not self._ready or (
            self._bytes < self._max_bytes and len(self._ready) < self._max_cues
        )

    def _read(self) -> None:
        error: Exception | None = None
        try:
            for cue in self._cues:
                with self._changed:
                    if not self._has_room():
                        self._changed.notify_all()
                        self._changed.wait_for(lambda: self._ended or self._has_room())
                    if self._ended:
                        return
                    self._ready.append(cue)
                    self._bytes += _size(cue)
                    if len(self._ready) == 1:
                        self._changed.notify_all()
        except Exception as raised:
            error = raised
        with self._changed:
            self._error = error
            self._ended = True
            self._changed.notify_all()


def _size(cue: Cue) -> int:
    return len(cue.data) + len(cue.raw)
