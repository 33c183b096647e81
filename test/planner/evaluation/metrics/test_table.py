"""Metrics of a run in a table, and two runs side by side."""

from __future__ import annotations

import pytest
from citation import CITATION

from planner.evaluation.metrics.table import compare, metrics
from planner.world.errors import PlannerError


def test_every_metric_has_a_formula_and_a_source() -> None:
    for metric in metrics().values():
        assert CITATION.search(metric.of_episode.__doc__), metric.name


def test_two_runs_are_compared_episode_by_episode(make_trace) -> None:
    first = [make_trace((False, i % 2 == 0), episode_id=f"e{i}") for i in range(8)]
    second = [make_trace((True, True), episode_id=f"e{i}") for i in reversed(range(8))]
    better = compare(first, second, "success")
    assert (better.better, better.worse, better.test) == (8, 0, "mcnemar_exact")
    assert better.p == pytest.approx(2 / 2**8)
    assert better.difference.value == 1.0
    share = compare(first, second, "percent_complete")
    assert share.test == "sign_flip"
    assert share.difference.value == pytest.approx(0.75)
    assert share.p == pytest.approx(2 / 2**8)
    with pytest.raises(PlannerError, match="episode e0 with seed 0 is in one of the runs only"):
        compare(first[1:], second, "success")
    with pytest.raises(PlannerError, match="twice"):
        compare([*first, first[0]], second, "success")
