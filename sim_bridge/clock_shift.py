"""How far the clock that stamps a robot's messages is from ours.

Messages that are sent when they are stamped arrive a little after their stamp. The smallest
difference of the last seconds is therefore that of the clocks, up to the shortest way.
"""

from __future__ import annotations

from collections import deque

# Seconds of differences that are looked at.
_WINDOW_S = 10.0
# Clocks that are kept alike (NTP, chrony) differ by less: stamps are then used as they are.
ALIKE_S = 0.1
# A stamp further back than this is of a clock that was set back.
_SET_BACK_S = 0.5


class ClockShift:
    """What is added to a robot's stamp to get a time of our clock.

    Attributes:
        shift_s: 0 while the clocks are alike; it changes only by steps of more than `ALIKE_S`.
    """

    def __init__(self) -> None:
        """Starts with clocks that are alike."""
        self.shift_s = 0.0
        self._differences: deque[tuple[float, float]] = deque()
        self._newest_s = float("-inf")

    def hear(self, stamp_s: float, at_s: float) -> None:
        """Learns from a message that was sent at once.

        Args:
            stamp_s: on the robot's clock.
            at_s: its receipt on our clock.
        """
        if stamp_s < self._newest_s - _SET_BACK_S:
            self._differences.clear()
        self._newest_s = stamp_s
        self._differences.append((at_s, at_s - stamp_s))
        while self._differences[0][0] < at_s - _WINDOW_S:
            self._differences.popleft()
        least_s = min(difference for _, difference in self._differences)
        if abs(least_s - self.shift_s) > ALIKE_S:
            self.shift_s = least_s if abs(least_s) > ALIKE_S else 0.0
