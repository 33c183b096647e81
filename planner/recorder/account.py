"""What became of each topic's messages: received, written, left out, missed. No ROS here."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.recorder.sequence_tracker import SequenceTracker


@dataclass(frozen=True, slots=True)
class Gap:
    """Messages of a topic that never arrived.

    Attributes:
        topic: its name.
        from_ns: when the last message before them was received, nanoseconds since the epoch;
            0 = none was.
        to_ns: when the first message after them was received.
        missing: how many there are.
    """

    topic: str
    from_ns: int
    to_ns: int
    missing: int

    def as_record(self) -> dict[str, str]:
        """As the bag keeps it: a metadata record `planner.gap`."""
        return {
            "topic": self.topic,
            "from_ns": str(self.from_ns),
            "to_ns": str(self.to_ns),
            "missing": str(self.missing),
        }


@dataclass(slots=True)
class TopicAccount:
    """Counts one topic's messages.

    Attributes:
        name: of the topic.
        latched: whether its publishers keep what they sent for those who come later, so that even
            the first message of a publisher can tell of missed ones.
        received: taken from the middleware.
        written: put into the bag.
        left_out: received, and left out on purpose to save space.
        missed: never received, by the publishers' numbers.
        reported_lost: lost, as the middleware's own events say.
    """

    name: str
    latched: bool = False
    received: int = 0
    written: int = 0
    left_out: int = 0
    missed: int = 0
    reported_lost: int = 0
    _numbers: SequenceTracker = field(init=False)
    _last_ns: int = 0

    def __post_init__(self) -> None:
        """Counts from the first message on."""
        self._numbers = SequenceTracker(from_start=self.latched)

    def take(self, publisher: bytes, number: int, received_ns: int) -> Gap | None:
        """Counts a message that arrived; says what is missing before it.

        Args:
            publisher: identity of the publisher.
            number: of the message, counted by its publisher from 1; 0 = not counted.
            received_ns: when it arrived, nanoseconds since the epoch.
        """
        missing = self._numbers.count_missed(publisher, number)
        self.received += 1
        self.missed += missing
        last_ns, self._last_ns = self._last_ns, received_ns
        return Gap(self.name, last_ns, received_ns, missing) if missing else None

    @property
    def sequence(self) -> int:
        """Number for the next message that is written: jumps by what was missed, no more."""
        return self.written + self.missed

    def as_record(self) -> dict[str, int]:
        """The counts by their names."""
        return {
            "received": self.received,
            "written": self.written,
            "left_out": self.left_out,
            "missed": self.missed,
            "reported_lost": self.reported_lost,
        }


def summary(accounts: list[TopicAccount], failure: str = "") -> str:
    """One line for people: what is in the bag and what is missing.

    Args:
        accounts: of all topics.
        failure: why writing ended early; "" = it did not.
    """
    written = sum(account.written for account in accounts)
    text = f"{written} messages of {len(accounts)} topics"
    faults = [
        f"{account.name} {account.missed} of {account.received + account.missed}"
        for account in sorted(accounts, key=lambda account: (-account.missed, account.name))
        if account.missed
    ]
    unwritten = sum(a.received - a.left_out - a.written for a in accounts)
    if failure:
        text += f"; INCOMPLETE, {unwritten} not written: {failure}"
    if faults:
        shown = ", ".join(faults[:5]) + (f" and {len(faults) - 5} more" if len(faults) > 5 else "")
        text += f"; MISSING: {shown}"
    return text if faults or failure else f"{text}, none missing"
