"""The messages of a bag in the order of time, however they were written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.replay.bag import Bag, RawMessage

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

    Raises:
        FileError: if the bag cannot be read.
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
    """The last message of each topic before a time, as far as there is one.

    Raises:
        FileError: if the bag cannot be read.
    """
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
