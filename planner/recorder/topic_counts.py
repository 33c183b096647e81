"""Topics of a bag: names, counts of messages received and missed, verdicts. No ROS here."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from planner.world.topics import DIAGNOSTICS, PARAMETER_EVENTS, ROSOUT

# Missed messages by their publishers' numbers.
#
# The middleware numbers each publisher's messages from 1, so what never arrived shows as a jump,
# whatever lost it: the publisher's history, the transport or the reader's own queue. What a
# publisher sends after the last message that arrived shows in nothing.


class SequenceTracker:
    """Follows the numbers on one topic, each publisher's by itself."""

    def __init__(self, *, from_start: bool = False) -> None:
        """Nothing has arrived yet.

        Args:
            from_start: whether the publishers keep all they sent for those who come later, so that
                even the first message can tell of missed ones.
        """
        self._from_start = from_start
        self._next: dict[bytes, int] = {}

    def count_missed(self, publisher: bytes, number: int) -> int:
        """How many of its publisher's messages never arrived before this one.

        Args:
            publisher: its identity.
            number: of the message, from 1; 0 = the middleware does not count.
        """
        if not number:
            return 0
        expected = self._next.get(publisher, 1 if self._from_start else number)
        self._next[publisher] = max(number + 1, expected)
        return max(0, number - expected)


# Names of topics in a bag: without the recorder's namespace.

# Shared by all namespaces; frames and time belong to one stack (docs/bridge.md).
SHARED_TOPICS = (ROSOUT, PARAMETER_EVENTS, DIAGNOSTICS)


def name_in_bag(name: str, namespace: str) -> str | None:
    """A topic's name in the bag, the same for readers whatever the namespace was.

    Args:
        name: full name of the topic.
        namespace: full name of the recorder's namespace; `/` keeps all names.

    Returns:
        The name, or None for a topic of another namespace.
    """
    place = namespace.rstrip("/")
    if name.startswith(f"{place}/"):
        return name.removeprefix(place)
    return name if name in SHARED_TOPICS else None


# Cause of a gap of unknown size.
QUEUE_FULL = "the queue was full before it was first read, so at least these are missing"


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages of a topic that are not in the bag.

    Attributes:
        topic: its name.
        from_ns: receipt of the last message before them, nanoseconds since the epoch; 0 = none.
        to_ns: receipt of the first message after them.
        missing: their number.
        cause: why; "" = they never arrived.
    """

    topic: str
    from_ns: int
    to_ns: int
    missing: int
    cause: str = ""

    def as_record(self) -> dict[str, str]:
        """As a metadata record `planner.gap` of the bag."""
        return {
            "topic": self.topic,
            "from_ns": str(self.from_ns),
            "to_ns": str(self.to_ns),
            "missing": str(self.missing),
            **({"cause": self.cause} if self.cause else {}),
        }


@dataclass(slots=True)
class TopicCounts:
    """Counters of one topic's messages.

    Attributes:
        name: of the topic.
        latched: whether publishers keep their messages for late joiners, so that a gap before the
            first received message counts as missed.
        received: taken from the middleware.
        written: put into the bag.
        left_out: received, but dropped on purpose to save space.
        unwritten: received, but not written: the disk was full for longer than the recorder waits.
        missed: never received, according to the publishers' sequence numbers.
        reported_lost: reported as lost by the middleware's own events.
    """

    name: str
    latched: bool = False
    received: int = 0
    written: int = 0
    left_out: int = 0
    unwritten: int = 0
    missed: int = 0
    reported_lost: int = 0
    _numbers: SequenceTracker = field(init=False)
    _last_ns: int = 0
    _lost: Gap | None = None

    def __post_init__(self) -> None:
        """Starts counting at the first message."""
        self._numbers = SequenceTracker(from_start=self.latched)

    def take(self, publisher: bytes, number: int, received_ns: int) -> Gap | None:
        """Counts a received message; returns the gap before it, if any.

        Args:
            publisher: identity of the publisher.
            number: its sequence number, counted by its publisher from 1; 0 = not numbered.
            received_ns: time of receipt, nanoseconds since the epoch.
        """
        missing = self._numbers.count_missed(publisher, number)
        self.received += 1
        self.missed += missing
        last_ns, self._last_ns = self._last_ns, received_ns
        return Gap(self.name, last_ns, received_ns, missing) if missing else None

    def begin_full(self, number: int, received_ns: int) -> Gap | None:
        """Counts what a full queue had dropped before anything was taken from it.

        A publisher that keeps no history may have sent earlier messages to others alone, so their
        number is not known: at least one.

        Args:
            number: of the first message that was left, as in `take`.
            received_ns: its time of receipt.
        """
        if self.latched or number == 1:
            return None
        self.missed += 1
        return Gap(self.name, 0, received_ns, 1, QUEUE_FULL)

    def lose(self, received_ns: int, cause: str) -> None:
        """Counts a received message that cannot be written."""
        self.unwritten += 1
        begun = self._lost
        from_ns, missing = (received_ns, 1) if begun is None else (begun.from_ns, begun.missing + 1)
        self._lost = Gap(self.name, from_ns, max(received_ns, from_ns + 1), missing, cause)

    def take_lost(self) -> Gap | None:
        """The gap of what could not be written since the last call, if any."""
        lost, self._lost = self._lost, None
        return lost

    @property
    def sequence(self) -> int:
        """Sequence number for the next message written: gaps are exactly what is missing."""
        return self.written + self.unwritten + self.missed

    def as_record(self) -> dict[str, int]:
        """The counters by name."""
        return {
            "received": self.received,
            "written": self.written,
            "left_out": self.left_out,
            "unwritten": self.unwritten,
            "missed": self.missed,
            "reported_lost": self.reported_lost,
        }


def summary(accounts: list[TopicCounts], failure: str = "", unsaved: int = 0) -> str:
    """One line for people: what the bag has and what is missing.

    Args:
        accounts: counters of all topics.
        failure: why some could not be written; "" = all could.
        unsaved: messages counted as written that did not reach the disk.
    """
    written = sum(counts.written for counts in accounts) - unsaved
    text = f"{written} messages of {len(accounts)} topics"
    faults = [
        f"{counts.name} {counts.missed} of {counts.received + counts.missed}"
        for counts in sorted(accounts, key=lambda counts: (-counts.missed, counts.name))
        if counts.missed
    ]
    unwritten = sum(a.received - a.left_out - a.written for a in accounts) + unsaved
    if failure:
        text += f"; INCOMPLETE, {unwritten} not written: {failure}"
    if faults:
        shown = ", ".join(faults[:5]) + (f" and {len(faults) - 5} more" if len(faults) > 5 else "")
        text += f"; MISSING: {shown}"
    return text if faults or failure else f"{text}, none missing"


# Whether a bag has every verdict that the evaluator reported. No ROS here.
#
# A verdict is its publisher's only message, so a loss leaves no gap in the numbers; but
# `/evaluation` repeats it every second.


@dataclass(slots=True)
class VerdictCheck:
    """Compares verdicts on `/evaluation/result` with those repeated on `/evaluation`."""

    _recorded: set[Hashable] = field(default_factory=set)
    _repeated: dict[Hashable, int] = field(default_factory=dict)

    def record(self, verdict: Hashable) -> None:
        """Notes a verdict that is in the bag."""
        self._recorded.add(verdict)

    def repeat(self, verdict: Hashable, received_ns: int) -> None:
        """Notes a repeated verdict."""
        self._repeated.setdefault(verdict, received_ns)

    def missing(self) -> list[int]:
        """When each verdict missing in the bag was first repeated, nanoseconds since the epoch."""
        return sorted(
            at_ns for verdict, at_ns in self._repeated.items() if verdict not in self._recorded
        )
