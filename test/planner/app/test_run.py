"""Runs that are judged by what their planner has understood so far."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.app.run import WordsEvaluator
from planner.cli import main
from planner.evaluation.metrics import metric
from planner.evaluation.metrics.table import summarise
from planner.evaluation.trace import read_traces
from planner.evaluation.trace_builder import TraceBuilder
from planner.world.house import House
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options
from sim_bridge.opening import bare_episode

ON_COUCH = {"on_top": {"the": "couch"}}


def test_the_trace_counts_what_was_understood_last(small_house: House) -> None:
    """An answer may add a part to the goal; what counted before has fewer parts."""
    episode = bare_episode(small_house, 1)
    backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
    backend.reset(small_house, episode, 1)
    state = backend.world_state()
    backend.close()
    assert state is not None
    builder = TraceBuilder()
    judge = WordsEvaluator(small_house, state, "agent_0", builder)
    judge.take_goal({"understood": [{"move": {"the": "cup"}, "to": ON_COUCH}]})
    judge.take_goal({"understood": [{"move": [{"the": "cup"}, {"the": "book"}], "to": ON_COUCH}]})
    trace = builder.finish(episode, judge.finish())
    assert len(trace.episode.propositions) == 2
    assert [line.satisfied for line in trace.progress] == [(False, False)]


def test_a_run_leaves_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert main(["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(path)]) == 0
    (trace,) = read_traces(path)
    assert (trace.episode.episode_id, trace.end.reason) == ("fruit_0", "done")
    assert metric.success(trace).value == 1.0
    placed = [c for c in trace.calls if c.call.startswith("Place")]
    assert placed
    for call in placed:
        assert 0 < call.started_step < call.ended_step <= trace.end.sim_steps
    doers = {metric.doer_of(trace, i) for i in range(len(trace.episode.propositions))}
    assert doers <= {call.agent for call in placed}
    rows = {row.metric.name: row.estimate.value for row in summarise([trace])}
    assert rows["planning_cycles"] is None
    # A checklist and a length reach the metrics without anybody's adding them.
    assert len(trace.episode.reference.subtasks) == len(trace.subtasks) > len(placed)
    assert {line.agent for line in trace.subtasks} <= {call.agent for call in trace.calls}
    assert trace.episode.reference.length >= 4 * len(placed)


@pytest.mark.slow
def test_a_run_leaves_its_states_to_be_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, trace = tmp_path / "states.jsonl", tmp_path / "run.jsonl"
    run = ["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(trace)]
    assert main([*run, "--state-log", str(log)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(log), "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    (told,) = read_traces(trace)
    assert (result["episode"], result["success"]) == ("fruit_0", True)
    assert result["sim_steps"] == told.end.sim_steps
    firsts = [p["first_step"] for p in result["propositions"]]
    assert firsts == list(told.end.first_steps)
    assert main([*run, "--state-log", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err
