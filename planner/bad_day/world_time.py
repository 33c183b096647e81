"""Monotonic simulated time, for comparisons across restarts of the simulator's bridge."""

from __future__ import annotations

# How far the stamps of two topics may differ, and the gap put between two worlds.
_BACK_S, _BETWEEN_WORLDS_S = 1.0, 100.0


class WorldTime:
    """Detects new worlds by their stamps: one well behind the newest begins another world."""

    def __init__(self) -> None:
        self._newest_s = self._earlier_worlds_s = 0.0

    def of(self, stamp_s: float) -> float:
        """Monotonic time of a stamp, seconds; different worlds are at least 99 s apart."""
        if stamp_s < self._newest_s - _BACK_S:
            self._earlier_worlds_s += self._newest_s + _BETWEEN_WORLDS_S
            self._newest_s = stamp_s
        self._newest_s = max(self._newest_s, stamp_s)
        return self._earlier_worlds_s + stamp_s
