"""`planner check planner NAME` on planners whose model is the teacher."""

from __future__ import annotations

import math

import pytest

from planner import cli
from planner.app.planner_check import check_metric
from planner.evaluation.metrics.metric import ALL_METRICS, Kind, Measure, Metric
from planner.evaluation.trace import EpisodeTrace
from planner.world.house_checks import load_episode


@pytest.mark.needs("papers")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["llamar_smart_llm", "llamar_coela", "partnr_views"])
def test_planners_that_plan_once_or_separately_or_look_pass(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", "planner", name, "--model", "teacher"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["passed", "is_named_as_asked_for"],
        ["passed", "ends_an_episode"],
        ["passed", "decides_for_idle_agents_with_whole_calls"],
        ["passed", "takes_free_text"],
    ]


@pytest.mark.needs("papers")
def test_the_agent_of_et_plan_bench_passes_without_a_model(capsys) -> None:
    assert cli.main(["check", "planner", "et_agent"]) == 0
    assert "ends_an_episode" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["success", "percent_complete", "planning_cycles"])
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
    monkeypatch.setattr(ALL_METRICS, "get", lambda _name: metric)
    episode, house = load_episode("night_light_0")
    assert set(check_metric("broken", house, episode).failed) == {
        "is_named_as_asked_for",
        "measures_a_whole_episode",
        "measures_an_episode_without_a_call",
    }
