"""Intervals and paired tests against values worked out by hand or by other means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, norm, ttest_1samp

from planner.evaluation.statistics import (
    Interval,
    bootstrap,
    compare,
    mean,
    rate,
    task_rate,
    wilson,
)
from planner.world.errors import PlannerError


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_rates_have_the_exact_interval(case) -> None:
    k, n = case
    found = rate(k, n)
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    assert found.low <= found.value <= found.high


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_bounds_are_the_rates_that_the_score_test_just_accepts(case) -> None:
    k, n = case
    found = wilson(k, n)
    z = norm.ppf(0.975)
    for bound, extreme in ((found.low, 0.0), (found.high, 1.0)):
        score = abs(k / n - bound) - z * math.sqrt(bound * (1 - bound) / n)
        assert bound == pytest.approx(extreme, abs=1e-9) or score == pytest.approx(0, abs=1e-9)
    assert found.low <= k / n <= found.high
    assert found.low < found.high


def test_seeds_of_a_task_are_not_further_tasks() -> None:
    """Ten tasks of which half are solved tell as much if each is run twenty times again."""
    once = [[1.0]] * 5 + [[0.0]] * 5
    again = [values * 20 for values in once]
    first, second = task_rate(once), task_rate(again)
    assert (second.value, second.n, first.n) == (0.5, 10, 10)
    assert (second.low, second.high) == (pytest.approx(first.low), pytest.approx(first.high))
    assert second.high - second.low > 3 * (rate(100, 200).high - rate(100, 200).low)


def test_seeds_tell_more_where_they_do_not_depend_on_the_task() -> None:
    alike = task_rate([[1.0, 0.0, 1.0, 0.0]] * 12)
    assert (alike.value, alike.n, alike.interval) == (0.5, 12, Interval.KORN_GRAUBARD)
    assert (alike.low, alike.high) == pytest.approx((rate(24, 48).low, rate(24, 48).high))
    all_solved = task_rate([[1.0, 1.0]] * 12)
    assert (all_solved.low, all_solved.high) == pytest.approx((rate(12, 12).low, 1.0))
    # A task that was run more often counts no more.
    assert task_rate([[1.0], [0.0] * 9]).value == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("spread", [(4.0, 1.0), (0.3, 0.3), (40.0, 10.0), (0.5, 4.0)])
def test_intervals_over_tasks_cover_the_rate(spread: tuple[float, float]) -> None:
    """Of 20 tasks with 3 seeds, whose difficulties differ little or much, in 400 draws."""
    rng = np.random.default_rng(1)
    true, hits = spread[0] / sum(spread), 0
    for _ in range(400):
        solved = rng.random((20, 3)) < rng.beta(*spread, size=(20, 1))
        found = task_rate(solved.astype(float).tolist())
        hits += found.low <= true <= found.high
    assert hits >= 0.93 * 400


def test_no_episode_is_no_rate_and_no_mean() -> None:
    for found in (rate(0, 0), task_rate([]), wilson(0, 0), mean([]), bootstrap(0, lambda _: 1.0)):
        assert (found.value, found.n, found.interval) == (None, 0, Interval.NONE)
    assert (mean([3.0]).value, mean([3.0]).low) == (3.0, None)
    with pytest.raises(PlannerError, match="3 successes of 2 episodes"):
        rate(3, 2)


def test_means_have_students_interval() -> None:
    values = [1.0, 2.0, 4.0, 4.0, 9.0]
    found = mean(values)
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.value == 4.0
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_ratios_of_sums_are_resampled_by_episode() -> None:
    tops, bottoms = [1, 2, 3, 4, 5, 6], [10, 10, 10, 10, 10, 10]

    def ratio(chosen):
        return sum(tops[i] for i in chosen) / sum(bottoms[i] for i in chosen)

    found = bootstrap(6, ratio)
    assert found.value == pytest.approx(0.35)
    assert 0.15 < found.low < 0.35 < found.high < 0.55
    assert found == bootstrap(6, ratio)
    assert found.interval is Interval.BOOTSTRAP


def _alone(values) -> list[list[float]]:
    """Each value of a task of its own."""
    return [[float(value)] for value in values]


def test_mcnemar_looks_at_the_episodes_that_differ() -> None:
    first = [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    second = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
    found = compare(_alone(first), _alone(second), binary=True)
    assert (found.better, found.worse, found.difference.n) == (5, 1, 10)
    assert found.p == pytest.approx(2 * (6 + 1) / 2**6)
    assert compare(_alone(first), _alone(first), binary=True).p == 1.0


def test_a_task_with_several_seeds_is_one_difference() -> None:
    """Two tasks that ten seeds each confirm are two observations, not twenty."""
    found = compare([[0.0] * 10] * 2, [[1.0] * 10] * 2, binary=True)
    assert (found.difference.n, found.better, found.test) == (2, 2, "sign_flip")
    assert found.p == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_signs_are_flipped_in_every_way(differences) -> None:
    found = compare(_alone([0] * len(differences)), _alone(differences), binary=False)
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    assert found.p == pytest.approx(sum(x >= abs(sum(differences)) for x in sums) / len(sums))


@pytest.mark.slow
def test_many_differences_are_sampled() -> None:
    flat = [math.sin(7 * i) for i in range(60)]
    assert compare(_alone([0] * 60), _alone(flat), binary=False).p > 0.5
    moved = compare(_alone([0] * 60), _alone(x + 1 for x in flat), binary=False)
    assert moved.p == pytest.approx(1e-4)


def test_runs_of_different_lengths_are_refused() -> None:
    with pytest.raises(PlannerError, match="runs of 1 and 2 tasks"):
        compare([[1.0]], [[1.0], [2.0]], binary=False)
    with pytest.raises(PlannerError, match="cannot be compared"):
        compare([], [], binary=True)


def test_no_mean_is_where_no_value_can_be() -> None:
    shares = [0.0, 1.0, 1.0]
    assert mean(shares).low < 0
    assert mean(shares).high > 1
    kept = mean(shares, min_value=0.0, max_value=1.0)
    assert (kept.low, kept.high, kept.value) == (0.0, 1.0, mean(shares).value)
    inside = [0.4, 0.5, 0.6]
    assert mean(inside, min_value=0.0, max_value=1.0) == mean(inside)


def test_the_interval_of_a_difference_stays_within_the_values() -> None:
    """Of two shares no difference is beyond 1."""
    found = compare(
        _alone([1.0, 1.0, 1.0, 0.5]), _alone([0.0, 0.0, 0.0, 0.5]), binary=False, max_value=1.0
    )
    assert found.difference.low == -1.0
    seeds = compare([[1.0, 1.0]] * 4, [[0.0, 0.0]] * 3 + [[1.0, 1.0]], binary=True)
    assert seeds.difference.low == -1.0
