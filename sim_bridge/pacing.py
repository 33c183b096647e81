"""How simulated time follows the wall clock.

Time advances in ticks of `TICK_S` in every mode, so that a result does not depend on the speed
of the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError

TICKS_PER_S = 30
TICK_S = 1.0 / TICKS_PER_S

# A world that fell behind (slow rendering, a suspended laptop) does not catch up at full speed.
MAX_TICKS_AT_ONCE = 6
# The bridge serves its clients between two slices of fast time.
FAST_SLICE_TICKS = 4
MAX_STEP_S = 60.0


class TimeMode(StrEnum):
    """What advances simulated time.

    PACED: the wall clock, times the rate. FAST: as fast as possible while an agent is busy.
    STEPPED: only `/world/step`.
    """

    PACED = "paced"
    FAST = "fast"
    STEPPED = "stepped"


class IdleTime(StrEnum):
    """What simulated time does while no agent is busy.

    RUN: it advances at the paced rate, so that planning costs simulated time.
    HOLD: it is paused, so that planning costs none.
    """

    RUN = "run"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Pace:
    """A time mode with its settings; `rate` is simulated seconds per wall second."""

    mode: TimeMode = TimeMode.PACED
    rate: float = 1.0
    idle: IdleTime = IdleTime.RUN

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and 0.01 <= self.rate <= 100.0):
            raise PlannerError(f"rate: expected 0.01 to 100, got {self.rate}")


class Pacer:
    """Counts the ticks that are due; wall times are monotonic seconds."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._next_s: float | None = None

    def due(self, wall_s: float, busy: bool) -> int:
        """The number of ticks to run now; they count as done."""
        if not self._advances(busy):
            self._next_s = None
            return 0
        if self._runs_fast(busy):
            self._next_s = None
            return FAST_SLICE_TICKS
        if self._next_s is None:
            # Time has just begun to advance: the first tick is due at once.
            self._next_s = wall_s
        period_s = TICK_S / self.pace.rate
        # One nanosecond of tolerance: a timer that fires exactly on time must not miss its tick.
        late = math.floor((wall_s - self._next_s + 1e-9) / period_s) + 1
        if late <= 0:
            return 0
        if late > MAX_TICKS_AT_ONCE:
            self._next_s = wall_s + period_s
            return MAX_TICKS_AT_ONCE
        self._next_s += late * period_s
        return late

    def wait_s(self, wall_s: float, busy: bool, ticks: int = 1) -> float | None:
        """Seconds until so many ticks are due; None while time does not advance by itself."""
        if not self._advances(busy):
            return None
        if self._runs_fast(busy) or self._next_s is None:
            return 0.0
        ticks = min(ticks, MAX_TICKS_AT_ONCE)
        return max(0.0, self._next_s + (ticks - 1) * TICK_S / self.pace.rate - wall_s)

    def _advances(self, busy: bool) -> bool:
        if self.pace.mode is TimeMode.STEPPED:
            return False
        return busy or self.pace.idle is IdleTime.RUN

    def _runs_fast(self, busy: bool) -> bool:
        return self.pace.mode is TimeMode.FAST and busy


def ticks_in(duration_s: float) -> int:
    """The number of ticks in a duration, rounded up, at least one."""
    return max(1, math.ceil(duration_s / TICK_S - 1e-6))


def split_step(duration_s: float) -> tuple[int, float]:
    """A step request as whole ticks and the remaining seconds.

    Raises:
        PlannerError: unless 0 < duration_s <= `MAX_STEP_S`.
    """
    if not (math.isfinite(duration_s) and 0.0 < duration_s <= MAX_STEP_S):
        raise PlannerError(f"duration_s: expected above 0, up to {MAX_STEP_S}, got {duration_s}")
    ticks = math.floor(duration_s * TICKS_PER_S + 1e-6)
    rest_s = duration_s - ticks * TICK_S
    return ticks, (rest_s if rest_s > 1e-6 else 0.0)


class Periodic:
    """A schedule on any clock: due at once, then every `period_s`, without drift."""

    def __init__(self, rate_hz: float) -> None:
        self.period_s = 1.0 / rate_hz
        self._next_s = -math.inf

    def due(self, now_s: float) -> bool:
        """Whether it is due at `now_s`; a clock that went back restarts it."""
        if now_s < self._next_s - 1e-6 and now_s > self._next_s - 2 * self.period_s:
            return False
        on_time = abs(now_s - self._next_s) < self.period_s
        self._next_s = (self._next_s if on_time else now_s) + self.period_s
        return True

    def until_due_s(self, now_s: float) -> float:
        """Seconds until it is due; 0 if it is."""
        return max(0.0, self._next_s - now_s)

    def restart(self) -> None:
        """Makes it due at once."""
        self._next_s = -math.inf


class Exposures:
    """When pictures are taken: at a lower rate while nothing in them changes.

    The slower ones are taken at times of the faster rate, so that changes appear at the same
    times whether or not the world stood still before.
    """

    def __init__(self, rate_hz: float, still_hz: float) -> None:
        self._moving = Periodic(rate_hz)
        self._still = Periodic(min(rate_hz, still_hz))

    def due(self, now_s: float, *, still: bool) -> bool:
        """Whether a picture is due at `now_s`; `still`: it would equal the last one."""
        if not self._moving.due(now_s):
            return False
        if not still:
            self._still.restart()
        return self._still.due(now_s)

    def until_due_s(self, now_s: float, *, still: bool) -> float:
        """Seconds until the next picture; 0 if one is due."""
        return (self._still if still else self._moving).until_due_s(now_s)

    def restart(self) -> None:
        """Makes it due at once."""
        self._moving.restart()
        self._still.restart()
