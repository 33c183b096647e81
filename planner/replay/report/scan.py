"""One pass through a bag: the receipts of each topic, and the messages that a report reads.

A single pass, because decompressing chunks and finding messages in them is most of the cost.
Frequent messages are parsed by byte offsets, rare ones by their fields, and everything else is only
counted.
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
