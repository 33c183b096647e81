"""The trace of a run in process: one format, from which the metrics come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.evaluation.metrics import llamar, partnr
from planner.evaluation.metrics.table import summarise
from planner.evaluation.trace import read_traces


def test_a_run_leaves_its_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert main(["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(path)]) == 0
    (trace,) = read_traces(path)
    assert (trace.episode.episode_id, trace.end.reason) == ("fruit_0", "done")
    assert partnr.success(trace).value == 1.0
    placed = [c for c in trace.calls if c.call.startswith("Place")]
    assert placed
    for call in placed:
        assert 0 < call.started_step < call.ended_step <= trace.end.sim_steps
        assert partnr.is_useful(trace, call)
    doers = {partnr.doer_of(trace, i) for i in range(len(trace.episode.propositions))}
    assert doers <= {call.agent for call in placed}
    assert partnr.exploration_efficiency(trace).value < placed[0].ended_step
    assert llamar.coverage(trace).value == 1.0
    rows = {row.metric.name: row.estimate.value for row in summarise([trace])}
    assert rows["moving_distance"] > 1.0
    assert rows["extraneous_effort"] == 0.0
    assert rows["planning_cycles"] is None
    # A checklist and a length reach the metrics without anybody's adding them.
    assert len(trace.episode.reference.subtasks) == len(trace.subtasks) > len(placed)
    assert {line.agent for line in trace.subtasks} <= {call.agent for call in trace.calls}
    assert (rows["transport_rate"], rows["llamar_success"]) == (1.0, 1.0)
    assert trace.episode.reference.length >= 4 * len(placed)
    assert 0.0 < rows["weighted_success"] <= 1.0
    assert rows["weighted_goal_conditions"] == rows["weighted_success"]


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


@pytest.mark.slow
def test_an_imported_task_of_criteria_alone_is_run_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walks = [
        f"<char0> [walk] <{word}> ({n})" for n, word in enumerate(["kitchen", "desk", "apple"])
    ]
    task = {
        "task": "Gronk.",
        "task_completion_criterion": "(CLOSE, robot, apple)",
        "env_id": 1,
        "ground_truth_plan": walks,
    }
    (tmp_path / "tasks.json").write_text(json.dumps(task), encoding="utf-8")
    words = [str(tmp_path / "tasks.json"), "--output", str(tmp_path / "made")]
    assert main(["episodes", "import", "et-plan-bench", *words]) == 0
    assert "imported 1, of which 1 can be judged" in capsys.readouterr().out
    trace = tmp_path / "run.jsonl"
    episode = str(tmp_path / "made" / "tasks-1.json")
    # Words that are not understood: nothing is done, and that is judged.
    assert main(["run", episode, "--no-images", "-o", str(tmp_path), "--trace", str(trace)]) == 1
    (told,) = read_traces(trace)
    assert (told.end.success, told.end.criteria, told.episode.propositions) == (False, False, ())
    assert told.end.explanation == "At the end agent_0 is not close to apple_0."
    assert told.episode.reference.actions[-1] == "Navigate[apple_0]"
    assert told.episode.reference.length == 3
    rows = {row.metric.name: row.estimate.value for row in summarise([told])}
    assert (rows["criteria_success"], rows["sequence_length"]) == (0.0, 20.0)
    assert (rows["lcs_ratio"], rows["transport_rate"]) == (0.0, None)
