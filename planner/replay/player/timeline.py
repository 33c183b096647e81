"""The current time in a bag: a clock that can be paused, sped up and set."""

from __future__ import annotations

from collections.abc import Callable

MIN_RATE, MAX_RATE = 0.1, 100.0
# The rates that the keys + and - step through.
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Timeline:
    """Maps a steady clock to the time of a bag, both in nanoseconds.

    Attributes:
        rate: seconds of the bag per second; None = as fast as possible.
        paused: whether the time of the bag stands still.
    """

    def __init__(
        self, clock: Callable[[], int], rate: float | None = 1.0, *, paused: bool = False
    ) -> None:
        """Starts at 0; `jump` sets the time at which playback starts."""
        self._clock = clock
        self.rate = rate
        self.paused = paused
        self._bag_ns = 0
        self._since_ns = clock()

    @property
    def now_ns(self) -> int:
        """The time of the bag; without a rate that of the last `jump`."""
        if self.paused or self.rate is None:
            return self._bag_ns
        return self._bag_ns + round((self._clock() - self._since_ns) * self.rate)

    def wait_s(self, stamp_ns: int) -> float:
        """Seconds of the steady clock until a time of the bag; negative if it is past.

        Infinite while paused.
        """
        if self.paused:
            return float("inf")
        if self.rate is None:
            return 0.0
        # Subtract first: a float cannot represent nanoseconds since the epoch.
        until_ns = (stamp_ns - self._bag_ns) / self.rate - (self._clock() - self._since_ns)
        return until_ns / 1e9

    def jump(self, stamp_ns: int) -> None:
        """Sets the time of the bag."""
        self._bag_ns, self._since_ns = stamp_ns, self._clock()

    def pause(self) -> None:
        """Stops the time."""
        self.jump(self.now_ns)
        self.paused = True

    def resume(self) -> None:
        """Resumes it."""
        if self.paused:
            self.jump(self._bag_ns)
            self.paused = False

    def faster(self) -> None:
        """Steps to the next higher rate, at most 100; no effect without a rate."""
        if self.rate is not None:
            rate = self.rate
            self._set_rate(next((step for step in _STEPS if step > rate * 1.001), MAX_RATE))

    def slower(self) -> None:
        """Steps to the next lower rate, at least 0.1."""
        rate = float("inf") if self.rate is None else self.rate
        self._set_rate(next((s for s in reversed(_STEPS) if s < rate * 0.999), MIN_RATE))

    def _set_rate(self, rate: float) -> None:
        self.jump(self.now_ns)
        self.rate = rate
