"""One pass through a bag: when each topic's messages came, and those that a report reads.

Everything that a report needs is taken in one pass, because unpacking the chunks and finding the
messages in them is most of the cost. What comes often is read by its bytes, what comes seldom by
its fields, and everything else is only counted.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from planner.replay.bag import Bag
from planner.replay.definitions import message_reader, short
from planner.replay.report.messages import MALFORMED, Event, read_event

T = TypeVar("T")
TakeBytes = Callable[[int, memoryview], None]
# Between two calls of `progress`.
_PROGRESS_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one pass found.

    Attributes:
        received_ns: by topic, when each message was received, in the order of the bag.
        sequences: by topic, each message's number.
        events: by topic, the messages that were read by their fields.
        unreadable: by topic, how many messages could not be read, and why the first could not.
    """

    received_ns: Mapping[str, array[int]]
    sequences: Mapping[str, array[int]]
    events: Mapping[str, Sequence[Event[Any]]]
    unreadable: Mapping[str, tuple[int, str]]

    def of(self, topic: str, kind: type[T]) -> list[Event[T]]:
        """The messages of a topic that say something of a kind; none where it has none."""
        return [event for event in self.events.get(topic, ()) if isinstance(event.content, kind)]


@dataclass(slots=True)
class Plan:
    """What to do with which topic; topics of neither kind are counted.

    Attributes:
        fields: what makes a record of the messages of a topic.
        bytes_of: who is handed a message's bytes; they are valid for the call only.
    """

    fields: dict[str, Callable[[Any], object]] = field(default_factory=dict)
    bytes_of: dict[str, TakeBytes] = field(default_factory=dict)


def scan(bag: Bag, plan: Plan, progress: Callable[[int], None] = lambda _: None) -> Scanned:
    """Reads a bag once.

    Args:
        bag: what to read.
        plan: what to keep of it.
        progress: is told now and then how far the pass is, as a time of receipt.

    Raises:
        FileError: if the file cannot be read.
    """
    received: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    sequences: defaultdict[str, array[int]] = defaultdict(lambda: array("Q"))
    events: dict[str, list[Event[object]]] = {topic: [] for topic in plan.fields}
    unreadable: dict[str, tuple[int, str]] = {}
    told_ns = 0
    for topic, (_, sequence, received_ns, _, data) in bag.every():
        received[topic].append(received_ns)
        sequences[topic].append(sequence)
        if received_ns - told_ns > _PROGRESS_NS:
            told_ns = received_ns
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
