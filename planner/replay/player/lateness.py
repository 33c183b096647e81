"""How late messages are sent."""

from __future__ import annotations

import math
from array import array


class Lateness:
    """A histogram of delays in steps of 0.1 ms up to two seconds."""

    _STEP_S, _STEPS = 1e-4, 20_000

    def __init__(self) -> None:
        self._counts = array("q", bytes(8 * (self._STEPS + 1)))
        self.count = 0
        self.max_s = 0.0

    def add(self, late_s: float) -> None:
        """Counts a message; an early one as on time."""
        step = min(math.ceil(max(late_s, 0.0) / self._STEP_S), self._STEPS)
        self._counts[step] += 1
        self.count += 1
        self.max_s = max(self.max_s, late_s)

    def quantile_s(self, share: float) -> float:
        """The delay that this share of the messages did not exceed, rounded up to a step."""
        rank, found = share * self.count, 0
        for step, count in enumerate(self._counts):
            found += count
            if found >= rank:
                return min(step * self._STEP_S, self.max_s)
        return self.max_s
