"""Intervals and paired tests against values worked out by hand or by other means."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, norm, t, ttest_1samp

from planner.evaluation.statistics import (
    Interval,
    bootstrap,
    by_task,
    compare,
    mean,
    rate,
    task_means,
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


def _bounds(value: float, n: float) -> tuple[float, float]:
    """The exact binomial interval of a rate of n episodes, which need not be whole."""
    won, lost = value * n, (1 - value) * n
    return float(beta.ppf(0.025, won, lost + 1)), float(beta.ppf(0.975, won + 1, lost))


def test_between_both_the_effective_episodes_are_korn_and_graubards() -> None:
    """Worked out by their formula: v(1 - v) over the variance, times the ratio of t squared."""
    means = [1.0, 0.5, 0.5, 0.0, 0.75, 0.75, 0.25, 0.75]
    found = task_rate([[1.0] * int(4 * m) + [0.0] * int(4 - 4 * m) for m in means])
    value, variance = 4.5 / 8, float(np.var(means, ddof=1)) / 8
    freedom = (t.ppf(0.975, 31) / t.ppf(0.975, 7)) ** 2
    effective = value * (1 - value) / variance * freedom
    assert 8 < effective < 32
    assert found.value == pytest.approx(value)
    assert (found.low, found.high) == pytest.approx(_bounds(value, effective))
    assert (found.n, found.interval) == (8, Interval.KORN_GRAUBARD)


def test_effective_episodes_are_no_more_than_episodes_and_no_fewer_than_tasks() -> None:
    # Tasks that differ less than chance has it.
    even = task_rate([[1.0, 1.0, 0.0, 0.0]] * 5 + [[1.0, 1.0, 1.0, 0.0]])
    assert (even.low, even.high) == pytest.approx(_bounds(13 / 24, 24))
    one = task_rate([[1.0, 0.0, 1.0]])
    assert (one.low, one.high) == pytest.approx(_bounds(2 / 3, 1))
    never = task_rate([[0.0, 0.0]] * 12)
    assert (never.low, never.high) == (0.0, pytest.approx(rate(0, 12).high))
    two = task_rate([[1.0, 1.0], [0.0, 0.0]])
    assert (two.low, two.high) == pytest.approx((rate(1, 2).low, rate(1, 2).high))


def test_values_are_kept_by_task_and_averaged() -> None:
    entries = [("cup", 1.0), ("plate", 0.0), ("cup", 0.0), ("cup", 1.0)]
    assert by_task(entries) == [[1.0, 0.0, 1.0], [0.0]]
    assert task_means(by_task(entries)) == [pytest.approx(2 / 3), 0.0]


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
    for successes in (3, -1):
        with pytest.raises(PlannerError, match=f"^{successes} successes of 2 episodes$"):
            rate(successes, 2)


def test_an_estimate_names_its_method_and_the_number_of_tasks() -> None:
    assert (rate(2, 3).interval, rate(2, 3).n) == (Interval.CLOPPER_PEARSON, 3)
    assert (wilson(2, 3).interval, wilson(2, 3).n) == (Interval.WILSON, 3)
    assert task_rate([[1.0], [0.0]]) == rate(1, 2)
    several = mean([1.0, 2.0])
    assert (several.interval, several.n) == (Interval.STUDENT_T, 2)
    one = mean([3.0])
    assert (one.high, one.n, one.interval) == (None, 1, Interval.NONE)


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


def test_resampled_means_spread_as_they_should() -> None:
    """Of 400 zeros and ones: 1.96 standard errors of 0.025 to either side."""
    values = [0.0, 1.0] * 200
    found = bootstrap(400, lambda chosen: sum(values[i] for i in chosen) / len(chosen))
    assert (found.low, found.high) == pytest.approx((0.451, 0.549), abs=0.004)
    assert found.n == 400
    assert found != bootstrap(400, lambda chosen: sum(values[i] for i in chosen) / 400, seed=5)


def test_resampling_skips_what_is_undefined_and_needs_two_tasks() -> None:
    def first(chosen):
        return float(chosen[0]) if chosen[0] else None

    assert bootstrap(3, first).low is None, "undefined for the tasks themselves"
    found = bootstrap(3, lambda chosen: 1.0 if tuple(chosen) == (0, 1, 2) else first(chosen))
    assert (found.low, found.high) == (1.0, 2.0)
    either = bootstrap(2, lambda chosen: float(chosen[0]))
    assert (either.low, either.high) == (0.0, 1.0), "each task is drawn"
    one = bootstrap(1, lambda _: 7.0)
    assert (one.value, one.low, one.high, one.n) == (7.0, None, None, 1)
    assert one.interval is Interval.NONE


def _alone(values) -> list[list[float]]:
    """Each value of a task of its own."""
    return [[float(value)] for value in values]


def test_mcnemar_looks_at_the_episodes_that_differ() -> None:
    first = [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    second = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]
    found = compare(_alone(first), _alone(second), binary=True)
    assert (found.better, found.worse, found.difference.n) == (5, 1, 10)
    assert found.p == pytest.approx(2 * (6 + 1) / 2**6)
    assert (found.test, found.difference.value) == ("mcnemar_exact", pytest.approx(0.4))
    same = compare(_alone(first), _alone(first), binary=True)
    assert (same.p, same.better, same.worse) == (1.0, 0, 0)
    assert compare(_alone([1] * 6), _alone([0] * 6), binary=True).p == pytest.approx(2 / 2**6)


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


def test_up_to_sixteen_differences_are_not_sampled() -> None:
    """All of sixteen to one side: the rarest of 65,536 patterns and its opposite."""
    found = compare(_alone([0] * 17), _alone([0] + [1] * 16), binary=False)
    assert found.p == 2 / 2**16
    assert compare(_alone([0]), _alone([0]), binary=False).p == 1.0


def test_sums_that_differ_by_rounding_alone_are_as_far_from_zero() -> None:
    assert compare(_alone([0] * 3), _alone([0.1, 0.2, 0.3]), binary=False).p == 0.25
    assert compare(_alone([0] * 3), _alone([0.3, -0.2, -0.1]), binary=False).p == 1.0


def test_many_differences_are_sampled() -> None:
    flat = [math.sin(7 * i) for i in range(60)]
    assert compare(_alone([0] * 60), _alone(flat), binary=False).p > 0.5
    moved = compare(_alone([0] * 60), _alone(x + 1 for x in flat), binary=False)
    assert moved.p == pytest.approx(1e-4)
    # As often as chance has it: 8 of 20 to one side, by the binomial 0.503.
    signs = compare(_alone([0] * 20), _alone([1] * 8 + [-1] * 12), binary=False)
    assert signs.p == pytest.approx(0.503, abs=0.02)


def test_runs_of_different_lengths_are_refused() -> None:
    with pytest.raises(PlannerError, match=r"^runs of 1 and 2 tasks cannot be compared$"):
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
    up = compare(
        _alone([0.0, 0.0, 0.0, 0.5]), _alone([1.0, 1.0, 1.0, 0.5]), binary=False, max_value=1.0
    )
    assert up.difference.high == 1.0
    free = compare(_alone([0, 0, 0]), _alone([3, 5, 7]), binary=False)
    assert free.difference == mean([3.0, 5.0, 7.0])
    seeds = compare([[1.0, 1.0]] * 4, [[0.0, 0.0]] * 3 + [[1.0, 1.0]], binary=True)
    assert seeds.difference.low == -1.0
