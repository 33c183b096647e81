"""Terminal output during playback: lines, and a status line on a terminal."""

from __future__ import annotations

import time
from typing import TextIO

from planner.replay.player.cues import Span
from planner.replay.player.player import Progress
from planner.replay.player.timeline import Timeline

_REFRESH_S = 0.2
_BAR_CHARS = 24
_CLEAR = "\r\x1b[K"


class Display:
    """Writes to one stream; the status line only if that is a terminal."""

    def __init__(self, out: TextIO, span: Span, timeline: Timeline, *, loop: bool) -> None:
        """Starts empty.

        Args:
            out: the stream.
            span: the part being played.
            timeline: the current time.
            loop: whether passes are counted.
        """
        self._out = out
        self._span = span
        self._timeline = timeline
        self._loop = loop
        self._live = out.isatty()
        self._drawn_s = float("-inf")

    def print_line(self, line: str) -> None:
        """Writes a line."""
        clear = _CLEAR if self._live else ""
        self._out.write(f"{clear}{printable(line)}\n")
        self._out.flush()
        self._drawn_s = float("-inf")

    def show(self, progress: Progress) -> None:
        """Draws the progress, a few times a second."""
        now_s = time.monotonic()
        if self._live and now_s - self._drawn_s >= _REFRESH_S:
            self._drawn_s = now_s
            self._out.write(_CLEAR + self.status(progress))
            self._out.flush()

    def clear(self) -> None:
        """Removes the status line."""
        if self._live:
            self._out.write(_CLEAR)
            self._out.flush()

    def status(self, progress: Progress) -> str:
        """The status line."""
        length_ns = max(self._span.end_ns - self._span.start_ns, 1)
        done_ns = min(max(progress.stamp_ns - self._span.start_ns, 0), length_ns)
        filled = round(_BAR_CHARS * done_ns / length_ns)
        bar = "#" * filled + "." * (_BAR_CHARS - filled)
        rate = self._timeline.rate
        how = "paused" if self._timeline.paused else "x max" if rate is None else f"x {rate:g}"
        turn = f"  pass {progress.passes}" if self._loop else ""
        return (
            f"[{bar}] {clock_text(done_ns)} of {clock_text(length_ns)}  {how}{turn}  "
            f"{progress.messages} messages"
        )


def clock_text(nanoseconds: int) -> str:
    """Minutes, seconds and tenths."""
    tenths = nanoseconds // 100_000_000
    return f"{tenths // 600}:{tenths % 600 // 10:02d}.{tenths % 10}"


def printable(text: str) -> str:
    """Text of a bag without control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
