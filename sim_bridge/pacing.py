"""How simulated time follows the wall clock or waits for nodes, and the process's priority."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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


# Whether fast time may advance: every node finishes with a moment before the next one comes.
#
# Pure: the bridge reports what it published and received, and asks `holds` before each tick.

# Wall seconds after which a silent node is not waited for until its next message.
TIMEOUT_S = 10.0
# Pictures are sent best effort, so one that was lost is sent again.
REPEAT_S = 0.5
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6


@dataclass(slots=True)
class _Actor:
    """Until when an agent's skills and its planner do nothing new, world seconds.

    `since_s` is the wall time at which the world began to wait for it; None while it does not.
    """

    skills_s: float = math.inf
    planner_s: float = math.inf
    since_s: float | None = None

    @property
    def until_s(self) -> float:
        """The skill's time while one is running, else the planner's."""
        return self.planner_s if math.isinf(self.skills_s) else self.skills_s


@dataclass(slots=True)
class Lockstep:
    """Which nodes the world waits for, and since when.

    It waits for the memory and for an agent's skills and planner from their first message on.

    Attributes:
        wait_for_agents: whether to wait for skills and planner too: planning then costs no time.
        warning: to be logged, once a node was given up.
    """

    wait_for_agents: bool
    warning: str = ""
    _shown: dict[str, float] = field(default_factory=dict)
    _looks: dict[str, float] = field(default_factory=dict)
    _unseen_since_s: float | None = None
    _repeated_s: float = 0.0
    _actors: dict[str, _Actor] = field(default_factory=dict)
    # Until when each agent was reported as settled.
    _settled_s: dict[str, float] = field(default_factory=dict)
    _given_up: set[str] = field(default_factory=set)

    # Events

    def shown(self, agent: str, stamp_s: float) -> None:
        """A picture of an agent was published."""
        self._shown[agent] = stamp_s

    def memory_looks(self, agent: str, from_s: float) -> None:
        """The memory needs no picture of an agent before `from_s`."""
        self._looks[agent] = from_s
        self._unseen_since_s = None

    def skills_act(self, agent: str, until_s: float) -> None:
        """An agent's skills do nothing new before `until_s`; infinity: none is running."""
        actor = self._actors.setdefault(agent, _Actor())
        actor.skills_s, actor.since_s = until_s, None
        self._settled_s.pop(agent, None)

    def planner_acts(self, agent: str, until_s: float) -> None:
        """An agent's planner does nothing new before `until_s`; infinity: until something ends."""
        actor = self._actors.setdefault(agent, _Actor())
        actor.planner_s = until_s
        if math.isinf(actor.skills_s):
            actor.since_s = None
        # It may be another planner, or one that subscribed late.
        self._settled_s.clear()

    def drop(self, *, memory: bool = False, skills: bool = False, planner: bool = False) -> None:
        """Nodes have left: stop waiting for them."""
        if memory:
            self._looks.clear()
        if skills:
            # Their calls end without a moment.
            self._given_up.update(self._actors)
        for actor in self._actors.values():
            actor.skills_s = math.inf if skills else actor.skills_s
            actor.planner_s = math.inf if planner else actor.planner_s

    def restart(self) -> None:
        """Forgets all messages: a world was loaded."""
        self._shown.clear()
        self._looks.clear()
        self._actors.clear()
        self._settled_s.clear()
        self._given_up.clear()
        self._unseen_since_s, self.warning = None, ""

    # Queries

    def needs_picture(self, agent: str, now_s: float) -> bool:
        """Whether the memory would use a picture of this time; True if unknown."""
        return now_s >= self._looks.get(agent, -math.inf) - _EQUAL_S

    def unseen_pictures(self) -> list[str]:
        """The agents whose newest picture the memory has not processed yet."""
        return [
            agent
            for agent in self._looks
            if agent in self._shown and self.needs_picture(agent, self._shown[agent])
        ]

    def wakes(self, now_s: float) -> bool:
        """Whether a node waits for a later time while no agent is busy."""
        return self.wait_for_agents and any(
            now_s < actor.until_s - _EQUAL_S and not math.isinf(actor.until_s)
            for actor in self._actors.values()
        )

    def newly_settled(self, now_s: float, busy: frozenset[str]) -> list[str]:
        """The agents for which nothing ends at `now_s` any more, each once, for a planner's turn.

        They are carrying out a primitive, or their skill waits for a later time. A planner that got
        one agent's result waits until each other agent is settled or has a result, too.
        """
        now_s += _EQUAL_S
        if not any(
            math.isinf(actor.skills_s) and actor.planner_s <= now_s and agent not in busy
            for agent, actor in self._actors.items()
        ):
            return []
        found = [
            agent
            for agent, actor in self._actors.items()
            if (agent in busy or agent in self._given_up or now_s < actor.skills_s < math.inf)
            and self._settled_s.get(agent) != now_s
        ]
        self._settled_s.update(dict.fromkeys(found, now_s))
        self._given_up.clear()
        return found

    def holds(self, now_s: float, wall_s: float, busy: frozenset[str]) -> bool:
        """Whether time has to wait at `now_s` for a node that has not finished with it.

        Args:
            now_s: on the world's clock.
            wall_s: on a monotonic clock.
            busy: the agents that are running a primitive.
        """
        waits_for_memory = self._holds_for_memory(wall_s)
        return self._holds_for_turns(now_s, wall_s, busy) or waits_for_memory

    def repeats(self, wall_s: float) -> bool:
        """Whether to publish the unprocessed pictures again."""
        if self._unseen_since_s is None or wall_s - self._repeated_s < REPEAT_S:
            return False
        self._repeated_s = wall_s
        return True

    def _holds_for_memory(self, wall_s: float) -> bool:
        unseen_pictures = self.unseen_pictures()
        if not unseen_pictures:
            self._unseen_since_s = None
            return False
        if self._unseen_since_s is None:
            self._unseen_since_s = self._repeated_s = wall_s
        if wall_s - self._unseen_since_s < TIMEOUT_S:
            return True
        names = ", ".join(unseen_pictures)
        self._warn(f"the memory, which did not process the pictures of {names}")
        self._looks.clear()
        self._unseen_since_s = None
        return False

    def _holds_for_turns(self, now_s: float, wall_s: float, busy: frozenset[str]) -> bool:
        """Time waits for an idle agent whose skills or planner are about to act.

        Only while another agent is busy: otherwise time does not advance anyway.
        """
        if not self.wait_for_agents or not (busy or self.wakes(now_s)):
            return False
        held = False
        for agent, actor in self._actors.items():
            if agent in busy or actor.until_s - _EQUAL_S > now_s:
                actor.since_s = None
                continue
            if actor.since_s is None:
                actor.since_s = wall_s
            if wall_s - actor.since_s < TIMEOUT_S:
                held = True
            else:
                self._warn(f"skills or planner of {agent}")
                actor.skills_s, actor.planner_s, actor.since_s = math.inf, math.inf, None
                self._given_up.add(agent)
        return held

    def _warn(self, who: str) -> None:
        self.warning = (
            f"time advances without {who}: no message for {TIMEOUT_S:g} s; "
            "the next message makes the world wait for it again"
        )


# Scheduling priority of the bridge's process with a real robot.

# The highest priority that Linux has.
MIN_NICE = -20
SWITCH_INTERVAL_S = 0.001
_THREADS = Path("/proc/self/task")


def raise_priority(nice: int) -> str:
    """Lowers the nice value of every thread of this process to at most `nice`.

    Linux keeps the value per thread; threads and processes started later inherit it. The
    interpreter's switch interval is shortened too: a thread that wakes for a stop waits at most
    that long for one that computes.

    Returns:
        Why the system does not allow it and what to do; empty if it was done.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    for thread in sorted(int(each.name) for each in _THREADS.iterdir()):
        # A thread may end meanwhile.
        with contextlib.suppress(ProcessLookupError):
            if os.getpriority(os.PRIO_PROCESS, thread) <= nice:
                continue
            try:
                os.setpriority(os.PRIO_PROCESS, thread, nice)
            except PermissionError:
                return (
                    f"this user may not set a nice value of {nice}, so a stop may be late while "
                    f"other programs are busy; allow it in /etc/security/limits.conf: "
                    f"USER - nice {nice}"
                )
    return ""
