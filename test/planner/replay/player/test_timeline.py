"""The time of a bag against a steady clock that the test moves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.player import MAX_RATE, MIN_RATE, Timeline

SECOND = 1_000_000_000
CENTURY_NS = 1_700_000_000 * SECOND


class Clock:
    def __init__(self) -> None:
        self.now_ns = 5 * SECOND

    def __call__(self) -> int:
        return self.now_ns


@pytest.mark.parametrize("rate", [0.1, 1.0, 2.5, 100.0])
def test_a_second_is_as_much_of_the_bag_as_the_rate_says(rate: float) -> None:
    clock = Clock()
    timeline = Timeline(clock, rate)
    timeline.jump(CENTURY_NS)
    clock.now_ns += 2 * SECOND
    assert timeline.now_ns == CENTURY_NS + round(2 * SECOND * rate)
    stamp_ns = CENTURY_NS + round(3 * SECOND * rate)
    assert timeline.wait_s(stamp_ns) == pytest.approx(1.0, abs=1e-9)
    assert timeline.wait_s(CENTURY_NS) == pytest.approx(-2.0, abs=1e-9)


def test_paused_time_stands_and_continues_from_there() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    timeline.jump(CENTURY_NS)
    clock.now_ns += SECOND
    timeline.pause()
    clock.now_ns += 100 * SECOND
    assert timeline.now_ns == CENTURY_NS + SECOND
    assert timeline.wait_s(CENTURY_NS) == math.inf
    timeline.resume()
    clock.now_ns += SECOND
    assert timeline.now_ns == CENTURY_NS + 2 * SECOND


def test_time_that_runs_is_not_moved_by_resuming_it() -> None:
    clock = Clock()
    timeline = Timeline(clock)
    timeline.jump(CENTURY_NS)
    clock.now_ns += SECOND
    timeline.resume()
    assert timeline.now_ns == CENTURY_NS + SECOND


def test_without_a_rate_nothing_is_waited_for() -> None:
    clock = Clock()
    timeline = Timeline(clock, None)
    timeline.jump(CENTURY_NS)
    clock.now_ns += SECOND
    assert timeline.now_ns == CENTURY_NS
    assert timeline.wait_s(CENTURY_NS + SECOND) == 0.0
    timeline.pause()
    assert timeline.wait_s(CENTURY_NS) == math.inf
    timeline.resume()
    timeline.faster()
    assert timeline.rate is None
    timeline.slower()
    assert timeline.rate == MAX_RATE


@given(st.lists(st.booleans(), max_size=40), st.floats(MIN_RATE, MAX_RATE))
def test_a_change_of_rate_moves_no_moment(faster: list[bool], rate: float) -> None:
    clock = Clock()
    timeline = Timeline(clock, rate)
    timeline.jump(CENTURY_NS)
    for step in faster:
        clock.now_ns += SECOND
        now_ns, before = timeline.now_ns, timeline.rate or 0.0
        (timeline.faster if step else timeline.slower)()
        assert timeline.now_ns == now_ns
        after = timeline.rate or 0.0
        assert MIN_RATE <= after <= MAX_RATE
        assert after >= before if step else after <= before
