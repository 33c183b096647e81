"""Progress of a long run, on stderr if that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Self

_FIRST_S, _EVERY_S = 2.0, 0.5


class Progress:
    """A line that is overwritten; silent if stderr is not a terminal, or the run is short."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        """Takes the time span of receipts in which events lie."""
        self._start_ns, self._end_ns = start_ns, max(end_ns, start_ns + 1)
        self._shown = sys.stderr.isatty()
        self._next_s = time.monotonic() + _FIRST_S
        self._wrote = False

    def on_event(self, received_ns: int) -> None:
        """Takes the time of the newest event."""
        if not self._shown or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + _EVERY_S
        done = (received_ns - self._start_ns) / (self._end_ns - self._start_ns)
        at_s, all_s = (received_ns - self._start_ns) / 1e9, (self._end_ns - self._start_ns) / 1e9
        print(f"\r{min(done, 1.0):4.0%}  {at_s:.0f} of {all_s:.0f} s ", end="", file=sys.stderr)
        self._wrote = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Clears the line."""
        if self._wrote:
            print("\r\033[K", end="", file=sys.stderr)
