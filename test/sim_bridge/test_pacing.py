from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from planner.world.errors import PlannerError
from sim_bridge.pacing import (
    FAST_SLICE_TICKS,
    MAX_TICKS_AT_ONCE,
    TICK_S,
    Exposures,
    IdleTime,
    Pace,
    Pacer,
    Periodic,
    TimeMode,
    split_step,
    ticks_in,
)


def ticks_made(pacer: Pacer, seconds: float, busy: bool, poll_s: float = 0.004) -> int:
    """Ticks that a loop makes which asks every `poll_s`, first at time 100."""
    return sum(pacer.due(100.0 + i * poll_s, busy) for i in range(round(seconds / poll_s)))


@pytest.mark.parametrize("rate", [0.5, 1.0, 3.0])
def test_paced_time_passes_at_the_rate(rate: float) -> None:
    assert ticks_made(Pacer(Pace(rate=rate)), 10.0, busy=False) == pytest.approx(300 * rate, abs=2)


@pytest.mark.parametrize("mode", [TimeMode.PACED, TimeMode.FAST])
def test_held_time_stands_while_nothing_is_asked(mode: TimeMode) -> None:
    pacer = Pacer(Pace(mode, idle=IdleTime.HOLD))
    assert ticks_made(pacer, 1.0, busy=False) == 0
    assert pacer.wait_s(101.0, busy=False) is None


def test_held_time_does_not_catch_up_on_what_it_held() -> None:
    pacer = Pacer(Pace(idle=IdleTime.HOLD))
    assert pacer.due(0.0, busy=True) == 1
    assert pacer.due(50.0, busy=False) == 0
    assert pacer.due(100.0, busy=True) == 1


def test_fast_time_runs_at_the_paced_rate_while_idle() -> None:
    assert ticks_made(Pacer(Pace(TimeMode.FAST)), 10.0, busy=False) == pytest.approx(300, abs=2)


def test_fast_time_races_in_slices_while_busy() -> None:
    pacer = Pacer(Pace(TimeMode.FAST))
    assert [pacer.due(7.0, busy=True) for _ in range(3)] == [FAST_SLICE_TICKS] * 3
    assert pacer.wait_s(7.0, busy=True) == 0.0


@pytest.mark.parametrize("busy", [True, False])
def test_stepped_time_never_moves_by_itself(busy: bool) -> None:
    pacer = Pacer(Pace(TimeMode.STEPPED))
    assert ticks_made(pacer, 1.0, busy) == 0
    assert pacer.wait_s(200.0, busy) is None


def test_a_world_that_fell_behind_does_not_race_to_catch_up() -> None:
    pacer = Pacer(Pace())
    assert pacer.due(0.0, busy=True) == 1
    assert pacer.due(60.0, busy=True) == MAX_TICKS_AT_ONCE
    assert pacer.due(60.0, busy=True) == 0


def test_waiting_as_long_as_told_makes_exactly_one_tick() -> None:
    pacer, now = Pacer(Pace()), 5.0
    for _ in range(300):
        assert pacer.due(now, busy=False) == 1
        wait = pacer.wait_s(now, busy=False)
        assert wait is not None
        assert 0 < wait <= TICK_S + 1e-9
        now += wait


def test_several_ticks_are_waited_for_at_once_and_all_made() -> None:
    pacer, now, made = Pacer(Pace(rate=2.0)), 5.0, 0
    assert pacer.due(now, busy=False) == 1
    for _ in range(100):
        wait = pacer.wait_s(now, busy=False, ticks=3)
        assert wait is not None
        now += wait
        made += pacer.due(now, busy=False)
    assert made == 300


def test_no_more_ticks_are_waited_for_than_are_made_at_once() -> None:
    pacer = Pacer(Pace())
    pacer.due(0.0, busy=False)
    assert pacer.wait_s(0.0, busy=False, ticks=90) == pytest.approx(MAX_TICKS_AT_ONCE * TICK_S)


def test_a_schedule_says_how_many_ticks_are_left() -> None:
    every = Periodic(10.0)
    assert ticks_in(every.until_due_s(3.0)) == 1
    every.due(3.0)
    assert [ticks_in(every.until_due_s(3.0 + n * TICK_S)) for n in range(4)] == [3, 2, 1, 1]


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, 1e6])
def test_a_rate_that_is_none_is_refused(rate: float) -> None:
    with pytest.raises(PlannerError, match="rate: "):
        Pace(rate=rate)


@pytest.mark.parametrize(
    ("duration_s", "ticks", "rest_s"),
    [(1.0, 30, 0.0), (TICK_S, 1, 0.0), (0.05, 1, 0.05 - TICK_S), (0.01, 0, 0.01), (60.0, 1800, 0)],
)
def test_a_step_is_whole_ticks_and_a_rest(duration_s: float, ticks: int, rest_s: float) -> None:
    made, rest = split_step(duration_s)
    assert made == ticks
    assert rest == pytest.approx(rest_s)
    assert made * TICK_S + rest == pytest.approx(duration_s, abs=1e-6)


@pytest.mark.parametrize("duration_s", [0.0, -1.0, math.nan, math.inf, 60.1])
def test_a_step_of_no_sensible_length_is_refused(duration_s: float) -> None:
    with pytest.raises(PlannerError, match="duration_s: "):
        split_step(duration_s)


def test_a_rate_neither_drifts_nor_misses_on_the_ticks_of_a_clock() -> None:
    every = Periodic(10.0)
    assert sum(every.due(tick * TICK_S) for tick in range(3000)) == 1000


def test_a_rate_follows_a_clock_that_started_again() -> None:
    every = Periodic(1.0)
    assert every.due(50.0)
    assert not every.due(50.5)
    assert every.due(0.0)
    assert not every.due(0.5)
    assert every.due(1.0)
    every.restart()
    assert every.due(1.1)


def test_pictures_of_what_stands_still_are_rarer_and_at_moments_of_the_others() -> None:
    moving, mixed = Exposures(10.0, 2.0), Exposures(10.0, 2.0)
    ticks = [tick * TICK_S for tick in range(301)]
    all_s = [now for now in ticks if moving.due(now, still=False)]
    some_s = [now for now in ticks if mixed.due(now, still=now > 1.0)]
    assert len(all_s) == 101
    assert set(some_s) <= set(all_s)
    assert [now for now in some_s if now <= 1.0] == [now for now in all_s if now <= 1.0]
    assert np.diff([now for now in some_s if now >= 1.0]) == pytest.approx(0.5)


def test_what_begins_to_move_is_seen_at_the_next_moment_of_the_faster_rate() -> None:
    exposures = Exposures(10.0, 2.0)
    assert exposures.due(0.0, still=False)
    assert not exposures.due(0.1, still=True)
    assert exposures.until_due_s(0.1, still=True) == pytest.approx(0.4)
    assert exposures.due(0.2, still=False)
    assert exposures.until_due_s(0.2, still=False) == pytest.approx(0.1)


def test_rarer_is_never_more_often() -> None:
    exposures = Exposures(1.0, 30.0)
    assert sum(exposures.due(tick * TICK_S, still=True) for tick in range(300)) == 10


# In a process of its own: its priority is not given back.
TRIAL = """
import os, sys, threading
from sim_bridge.pacing import raise_priority
release = threading.Event()
threading.Thread(target=release.wait).start()
if sys.argv[1] == "refused":
    def refuse(*_): raise PermissionError
    os.setpriority = refuse
print(raise_priority(os.getpriority(os.PRIO_PROCESS, 0) - 3))
print(*sorted({os.getpriority(os.PRIO_PROCESS, int(t)) for t in os.listdir("/proc/self/task")}))
release.set()
"""


def trial(word: str) -> list[str]:
    command = [sys.executable, "-c", TRIAL, word]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def may_raise() -> bool:
    command = [sys.executable, "-c", "import os; os.nice(-3)"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_raise(), reason="this user may not raise a process's priority")
def test_every_thread_gets_it() -> None:
    assert trial("raised") == ["", str(max(-20, os.getpriority(os.PRIO_PROCESS, 0) - 3))]


def test_where_it_is_refused_it_says_what_would_allow_it() -> None:
    problem, nice = trial("refused")
    assert "/etc/security/limits.conf" in problem
    assert nice == str(os.getpriority(os.PRIO_PROCESS, 0))
