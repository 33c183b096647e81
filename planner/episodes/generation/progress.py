"""A line now and then while episodes are generated: how many, how many rejected, how fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

EVERY_S = 10.0


class Progress:
    """Prints the progress of one run.

    Args:
        asked: number of episodes.
        found: number of them that an earlier run made.
        stream: where lines go.
        clock_s: a clock that only goes forward, in seconds.
    """

    def __init__(
        self, asked: int, found: int, stream: TextIO, clock_s: Callable[[], float]
    ) -> None:
        self._asked = asked
        self._found = found
        self._stream = stream
        self._clock_s = clock_s
        self._begun_s = self._printed_s = clock_s()

    def update(self, made: int, rejected: int, *, last: bool = False) -> None:
        """Prints a line if the last one is ten seconds old.

        Args:
            made: number of episodes so far, those of an earlier run included.
            rejected: number of candidates, likewise.
            last: prints it in any case.
        """
        now_s = self._clock_s()
        if not last and now_s - self._printed_s < EVERY_S:
            return
        self._printed_s = now_s
        minutes = (now_s - self._begun_s) / 60
        rate = (made - self._found) / minutes if minutes > 0 else 0.0
        text = f"{made} of {self._asked} episodes, {rejected} candidates rejected"
        print(f"{text}, {rate:.0f} a minute", file=self._stream, flush=True)
