"""The published check of metrics: what it passes, and what it finds."""

from __future__ import annotations

import math

import pytest

from planner.app.metric_check import check_metric
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.metrics.metric import Kind, Metric
from planner.evaluation.trace import EpisodeTrace
from planner.parts.kinds import METRICS
from planner.world.house_checks import load_episode


@pytest.mark.parametrize("name", ["success", "coverage", "goal_condition_success"])
def test_what_ships_passes(name: str) -> None:
    episode, house = load_episode("night_light_0")
    report = check_metric(name, house, episode)
    assert report.conforms, report.table()


def _broken(trace: EpisodeTrace) -> Measure:
    if not trace.calls:
        raise ZeroDivisionError
    return Measure(math.nan)


@pytest.mark.slow
def test_what_breaks_promises_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Metric("other", "nobody", Kind.SHARE, _broken)
    monkeypatch.setattr(METRICS, "get", lambda _name: metric)
    episode, house = load_episode("night_light_0")
    assert set(check_metric("broken", house, episode).failed) == {
        "is_named_as_asked_for",
        "measures_a_whole_episode",
        "measures_an_episode_without_a_call",
    }
