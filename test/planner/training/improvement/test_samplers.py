"""DDAFT and its rivals: which task is tried next."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.training.improvement.sampler import (
    ALGORITHMS,
    DAST_FREQUENCIES,
    DartMath,
    Dast,
    Ddaft,
    Draw,
    Ended,
    FailureRates,
    FixedDraws,
    ImprovementRecipe,
    OnlineRft,
    SampledDraws,
    Sampler,
    SoftmaxMode,
    Tally,
)

RATES = st.lists(st.floats(0, 1), min_size=1, max_size=40)
ALPHAS = st.floats(0.01, 50)
MODES = st.sampled_from(SoftmaxMode)


def _same(rates: list[float]) -> FailureRates:
    found = np.array(rates)
    return FailureRates(found, found, found)


def test_table_8_is_the_default() -> None:
    """EPM-T8."""
    recipe = ImprovementRecipe()
    assert (recipe.algorithm, recipe.iterations, recipe.samples) == ("ddaft", 5, 2000)
    assert recipe.sampler == Ddaft(3.0, SoftmaxMode.INVERSE_TEMPERATURE)
    assert {name: ImprovementRecipe(algorithm=name).rounds for name in ALGORITHMS} == {
        "ddaft": 1,
        "online-rft": 1,
        "dart-math": 5,
        "dast": 5,
    }


def test_ddaft_weights_of_the_paper() -> None:
    """EPM-C38."""
    rates = _same([1.0, 0.5, 0.0])
    hard = Ddaft(3.0, SoftmaxMode.INVERSE_TEMPERATURE).probabilities(rates)
    flat = Ddaft(3.0, SoftmaxMode.TEMPERATURE).probabilities(rates)
    # The spec prints 0.786; the softmax of (3, 1.5, 0) is 0.7856, 0.1753, 0.0391.
    assert hard == pytest.approx([0.786, 0.175, 0.039], abs=5e-4)
    assert flat == pytest.approx([0.390, 0.330, 0.280], abs=5e-4)


@given(RATES, ALPHAS, MODES)
def test_ddaft_is_the_softmax(rates: list[float], alpha: float, mode: SoftmaxMode) -> None:
    found = Ddaft(alpha, mode).probabilities(_same(rates))
    a = alpha if mode is SoftmaxMode.INVERSE_TEMPERATURE else 1 / alpha
    total = math.fsum(math.exp(a * rate) for rate in rates)
    assert found == pytest.approx([math.exp(a * rate) / total for rate in rates], rel=1e-9)


@given(RATES, ALPHAS, MODES)
def test_probabilities_sum_to_one_and_hard_tasks_are_not_less_likely(
    rates: list[float], alpha: float, mode: SoftmaxMode
) -> None:
    samplers: list[Sampler] = [Ddaft(alpha, mode), OnlineRft(), DartMath(), Dast()]
    order = np.argsort(rates)
    for sampler in samplers:
        found = sampler.probabilities(_same(rates))
        assert found.shape == (len(rates),)
        assert float(found.sum()) == pytest.approx(1, abs=1e-12)
        assert (np.diff(found[order]) >= -1e-15).all(), sampler.name


@given(RATES)
def test_dart_math_is_linear_in_the_first_rates(rates: list[float]) -> None:
    first, ones = np.array(rates), np.ones(len(rates))
    found = DartMath().probabilities(FailureRates(first, ones, ones))
    total = first.sum()
    wanted = first / total if total > 0 else ones / len(rates)
    assert found == pytest.approx(wanted.tolist())


def test_dast_looks_up_its_map_when_the_iteration_begins() -> None:
    zeros = np.zeros(6)
    start = np.array([0.0, 0.25, 0.26, 0.5, 0.75, 1.0])
    found = Dast().probabilities(FailureRates(zeros, start, zeros))
    assert found * 13 == pytest.approx([1, 1, 2, 2, 3, 4])
    assert [bound for bound, _ in DAST_FREQUENCIES] == sorted(
        bound for bound, _ in DAST_FREQUENCIES
    )


def _ended(task: str, number: int, *, success: bool | None) -> Ended:
    return Ended(Draw(task, number), success)


def test_failure_rate_of_three_failures_in_four() -> None:
    """EPM-C39."""
    tally = Tally(["a", "b", "c"])
    for number, success in enumerate((False, True, False, False)):
        tally.add(_ended("a", number, success=success))
    tally.add(_ended("b", 0, success=True))
    tally.add(_ended("c", 0, success=None))
    assert tally.failure_rates().tolist() == [0.75, 0.0, 1.0]
    assert tally.without_verdict() == ("c",)
    assert tally.only(["b", "a"]).failure_rates().tolist() == [0.0, 0.75]


def _first(rates: dict[str, bool]) -> Tally:
    tally = Tally([*rates])
    for task, success in rates.items():
        tally.add(_ended(task, 0, success=success))
    return tally


def _draws(sampler: Sampler, first: Tally, total: int, in_flight: int, seed: int) -> SampledDraws:
    tried = dict.fromkeys(first.tasks, 1)
    return SampledDraws(sampler, first, first, tried, total, in_flight, (seed,))


@pytest.mark.parametrize("refreshes", [True, False])
def test_ddaft_refreshes_within_the_iteration_and_dast_does_not(refreshes: bool) -> None:
    """EPM-C38: an implementation that freezes the rates keeps on with a task that is solved now."""
    sampler = Ddaft(20.0) if refreshes else Dast(((0.5, 0.0), (1.0, 1.0)))
    draws = _draws(sampler, _first({"a": False, "b": True}), 80, 1, 5)
    found = []
    while (draw := draws.next()) is not None:
        found.append(draw.task)
        draws.note(Ended(draw, success=draw.task == "a"))
    assert found[0] == "a"
    assert ("b" in found) is refreshes


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.booleans(), min_size=1),
    st.sampled_from([*ALGORITHMS]),
    st.integers(1, 6),
    st.integers(0, 2**31),
)
def test_what_is_drawn_depends_on_outcomes_but_not_on_when_they_came(
    first: dict[str, bool], algorithm: str, in_flight: int, seed: int
) -> None:
    sampler = ImprovementRecipe(algorithm=algorithm).sampler
    orders = []
    for newest_first in (False, True):
        draws = _draws(sampler, _first(first), 12, in_flight, seed)
        running: list[Draw] = []
        while True:
            while (draw := draws.next()) is not None:
                running.append(draw)
            assert len(running) <= in_flight
            if not running:
                break
            draw = running.pop() if newest_first else running.pop(0)
            draws.note(Ended(draw, success=hash((draw.number, len(draw.task))) % 3 == 0))
        orders.append([ended.draw for ended in draws.ended()])
    assert orders[0] == orders[1]
    assert len(orders[0]) == 12
    # The n-th roll-out of a task has the number n, and the first pass was number 0.
    for task, count in Counter(draw.task for draw in orders[0]).items():
        numbers = [draw.number for draw in orders[0] if draw.task == task]
        assert numbers == [*range(1, count + 1)]


def test_a_fixed_list_is_given_out_once() -> None:
    draws = FixedDraws([Draw("a", 0), Draw("b", 0)])
    assert (draws.next(), draws.next(), draws.next()) == (Draw("a", 0), Draw("b", 0), None)
    draws.note(_ended("b", 0, success=True))
    assert [ended.draw.task for ended in draws.ended()] == ["b"]
