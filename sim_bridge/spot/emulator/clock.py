"""The emulator's time: injected, so that a run can be stepped and repeated."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds that never go back."""

    def now_s(self) -> float:
        """The present."""


class SteppedClock:
    """Stands still until it is told to go on."""

    def __init__(self, start_s: float = 1000.0) -> None:
        # A small start: a float keeps nanoseconds of it exactly.
        self._now_s = start_s

    def now_s(self) -> float:
        """The present."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Goes on by so much."""
        self._now_s += seconds


class WallClock:
    """The machine's time of day, as the SDK uses it."""

    def now_s(self) -> float:
        """The present."""
        return time.time()
