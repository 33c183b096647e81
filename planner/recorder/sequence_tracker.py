"""Missed messages by their publishers' numbers.

The middleware numbers each publisher's messages from 1, so what never arrived shows as a jump,
whatever lost it: the publisher's history, the transport or the reader's own queue. What a
publisher sends after the last message that arrived shows in nothing.
"""

from __future__ import annotations


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
