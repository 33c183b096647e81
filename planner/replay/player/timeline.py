"""Which moment of a bag it is: a clock that can be paused, hurried and set."""

from __future__ import annotations

from collections.abc import Callable

MIN_RATE, MAX_RATE = 0.1, 100.0
# What the keys + and - go through.
_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


class Timeline:
    """Maps a steady clock to the time of a bag, both in nanoseconds.

    Attributes:
        rate: seconds of the bag in a second; None = every message at once after the last.
        paused: whether the time of the bag stands.
    """

    def __init__(
        self, clock: Callable[[], int], rate: float | None = 1.0, *, paused: bool = False
    ) -> None:
        """Begins at 0; `jump` goes to the moment that playing starts from."""
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
        """Seconds of the steady clock until a moment of the bag; negative where it is past.

        Infinite while the time stands.
        """
        if self.paused:
            return float("inf")
        if self.rate is None:
            return 0.0
        # By the difference first: a float has no nanoseconds of this century.
        until_ns = (stamp_ns - self._bag_ns) / self.rate - (self._clock() - self._since_ns)
        return until_ns / 1e9

    def jump(self, stamp_ns: int) -> None:
        """Makes it this moment of the bag."""
        self._bag_ns, self._since_ns = stamp_ns, self._clock()

    def pause(self) -> None:
        """Lets the time stand."""
        self.jump(self.now_ns)
        self.paused = True

    def resume(self) -> None:
        """Lets it go on."""
        if self.paused:
            self.jump(self._bag_ns)
            self.paused = False

    def faster(self) -> None:
        """Goes to the next higher rate, at most 100; without a rate it stays so."""
        if self.rate is not None:
            rate = self.rate
            self._set_rate(next((step for step in _STEPS if step > rate * 1.001), MAX_RATE))

    def slower(self) -> None:
        """Goes to the next lower rate, at least 0.1."""
        rate = float("inf") if self.rate is None else self.rate
        self._set_rate(next((s for s in reversed(_STEPS) if s < rate * 0.999), MIN_RATE))

    def _set_rate(self, rate: float) -> None:
        self.jump(self.now_ns)
        self.rate = rate
