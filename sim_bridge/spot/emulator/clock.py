"""The emulator's time, injected so that a run can be stepped and repeated."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock."""

    def now_s(self) -> float:
        """The current time."""


class SteppedClock:
    """Advances only when stepped."""

    def __init__(self, start_s: float = 1000.0) -> None:
        # A small start: floats near it represent nanoseconds exactly.
        self._now_s = start_s

    def now_s(self) -> float:
        """The current time."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Advances the time."""
        self._now_s += seconds


class WallClock:
    """The machine's time of day, as the SDK uses it."""

    def now_s(self) -> float:
        """The current time."""
        return time.time()
