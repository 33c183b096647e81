"""How simulated time follows the wall clock.

Time moves in ticks of `TICK_S`, the same in every mode, so that a run's
result does not depend on how fast it was made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError

TICKS_PER_S = 30
TICK_S = 1.0 / TICKS_PER_S

# A world that fell behind (a long rendering, a laptop that slept) does not race to catch up.
MAX_TICKS_AT_ONCE = 6
# Between two slices of fast time the bridge answers its clients.
FAST_SLICE_TICKS = 4
MAX_STEP_S = 60.0


class TimeMode(StrEnum):
    """What moves simulated time.

    PACED: the wall clock, times the rate. FAST: as fast as it can while an
    agent is busy. STEPPED: only `/world/step`.
    """

    PACED = "paced"
    FAST = "fast"
    STEPPED = "stepped"


class IdleTime(StrEnum):
    """What simulated time does while no agent is busy.

    RUN: it passes at the paced rate, so that thinking costs simulated time.
    HOLD: it stands, so that thinking is free.
    """

    RUN = "run"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Pace:
    """A time mode with its settings; `rate` is simulated seconds a wall second."""

    mode: TimeMode = TimeMode.PACED
    rate: float = 1.0
    idle: IdleTime = IdleTime.RUN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and 0.01 <= self.rate <= 100.0):
            raise PlannerError(f"rate: {self.rate} is not between 0.01 and 100")


class Pacer:
    """Says how many ticks are due; wall times are of one monotonic clock, in seconds."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._next_s: float | None = None

    def due(self, wall_s: float, busy: bool) -> int:
        """The number of ticks to make now; they count as made."""
        if not self._moves(busy):
            self._next_s = None
            return 0
        if self._races(busy):
            self._next_s = None
            return FAST_SLICE_TICKS
        if self._next_s is None:
            # Whatever made time move was asked for now: the first tick is not waited for.
            self._next_s = wall_s
        period_s = TICK_S / self.pace.rate
        # A nanosecond of grace: a timer that fires on the dot must not wait another round.
        late = math.floor((wall_s - self._next_s + 1e-9) / period_s) + 1
        if late <= 0:
            return 0
        if late > MAX_TICKS_AT_ONCE:
            self._next_s = wall_s + period_s
            return MAX_TICKS_AT_ONCE
        self._next_s += late * period_s
        return late

    def wait_s(self, wall_s: float, busy: bool, ticks: int = 1) -> float | None:
        """Seconds until so many ticks are due; None where none will be by itself."""
        if not self._moves(busy):
            return None
        if self._races(busy) or self._next_s is None:
            return 0.0
        ticks = min(ticks, MAX_TICKS_AT_ONCE)
        return max(0.0, self._next_s + (ticks - 1) * TICK_S / self.pace.rate - wall_s)

    def _moves(self, busy: bool) -> bool:
        if self.pace.mode is TimeMode.STEPPED:
            return False
        return busy or self.pace.idle is IdleTime.RUN

    def _races(self, busy: bool) -> bool:
        return self.pace.mode is TimeMode.FAST and busy


def ticks_in(duration_s: float) -> int:
    """The number of ticks after which so many seconds have passed, at least one."""
    return max(1, math.ceil(duration_s / TICK_S - 1e-6))


def split_step(duration_s: float) -> tuple[int, float]:
    """A lockstep request as whole ticks and the rest in seconds (0 where none is left).

    Raises:
        PlannerError: where it is not above 0, not finite or longer than `MAX_STEP_S`.
    """
    if not (math.isfinite(duration_s) and 0.0 < duration_s <= MAX_STEP_S):
        raise PlannerError(f"duration_s: {duration_s} is not above 0 and up to {MAX_STEP_S}")
    ticks = math.floor(duration_s * TICKS_PER_S + 1e-6)
    rest_s = duration_s - ticks * TICK_S
    return ticks, (rest_s if rest_s > 1e-6 else 0.0)


class Every:
    """A rate on any clock: fires at once, then each `period_s`, without drifting."""

    def __init__(self, rate_hz: float) -> None:
        self.period_s = 1.0 / rate_hz
        self._next_s = -math.inf

    def due(self, now_s: float) -> bool:
        """Whether it fires at `now_s`; a clock that went back starts anew."""
        if now_s < self._next_s - 1e-6 and now_s > self._next_s - 2 * self.period_s:
            return False
        on_time = abs(now_s - self._next_s) < self.period_s
        self._next_s = (self._next_s if on_time else now_s) + self.period_s
        return True

    def left_s(self, now_s: float) -> float:
        """Seconds until it fires, 0 where it is due."""
        return max(0.0, self._next_s - now_s)

    def restart(self) -> None:
        """Makes the next question fire."""
        self._next_s = -math.inf


class Exposures:
    """When pictures are taken: rarer while nothing moves, as they would all be the same.

    The slower ones are at moments of the faster rate too, so that whoever looks at what changes
    finds it at the same moments whether or not the world stood still before.
    """

    def __init__(self, rate_hz: float, still_hz: float) -> None:
        self._moving = Every(rate_hz)
        self._still = Every(min(rate_hz, still_hz))

    def due(self, now_s: float, *, still: bool) -> bool:
        """Whether a picture is due at `now_s`; `still`: it would be the same as the last."""
        if not self._moving.due(now_s):
            return False
        if not still:
            self._still.restart()
        return self._still.due(now_s)

    def left_s(self, now_s: float, *, still: bool) -> float:
        """Seconds until the next picture, 0 where one is due."""
        return (self._still if still else self._moving).left_s(now_s)

    def restart(self) -> None:
        """Makes the next question fire."""
        self._moving.restart()
        self._still.restart()
