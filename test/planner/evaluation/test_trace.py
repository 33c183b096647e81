"""The trace format: written and read again, its schema, what is refused, and its making."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.evaluation.language import read_evaluation
from planner.evaluation.trace import FILE_NAME, EpisodeTrace, read_traces, schema_text, write_traces
from planner.evaluation.trace_builder import DecisionRecord, TraceBuilder, TracedEvaluator
from planner.world.errors import FileError
from planner.world.skill import SkillCode, SkillResult

ROOT = Path(__file__).resolve().parents[3]
GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": ["cup_0"], "receptacles": ["table_0"]}},
        {"function_name": "is_on_top", "args": {"objects": ["cup_1"], "receptacles": ["table_0"]}},
    ]
}


@pytest.fixture
def made(make_lab, small_episode) -> EpisodeTrace:
    """Agent 0 walks to the cup, holds it from step 2, and puts it on the table at step 6."""
    lab = make_lab(["cup_0", "cup_1"])
    builder = TraceBuilder()
    judge = TracedEvaluator(read_evaluation(GOAL, "e"), lab.house, lab.state(), builder=builder)
    lab.at("agent_0", 2, 3)
    lab.entities["agent_0"] = replace(lab.entities["agent_0"], hands=("cup_0",))
    judge.update(lab.state(2))
    lab.on("cup_0", "table_0")
    lab.entities["agent_0"] = replace(lab.entities["agent_0"], hands=(None,))
    judge.update(lab.state(4))
    judge.update(lab.state(4))
    builder.add_decision(DecisionRecord(0.0, "react", ("agent_0",), 1, "m", 100, 20))
    builder.add_call(
        "agent_0", "Place[cup_0, on, table_0, None, None]", SkillResult.success(), 0.8, 0.4
    )
    builder.add_call("agent_0", "Pick[cup_0]", SkillResult.success(), 0.2)
    builder.add_call("stranger", "Pick[cup_1]", SkillResult.success(), 0.2)
    failure = SkillResult.failure(SkillCode.TOO_FAR, "Too far.")
    builder.add_call("agent_0", "Pick[cup_1]", failure, 1.0)
    return builder.finish(small_episode, judge.finish(), reason="done", acting=("agent_0",))


def test_a_run_is_reported_in_steps(made: EpisodeTrace) -> None:
    assert [(c.call.split("[")[0], c.started_step, c.ended_step, c.code) for c in made.calls] == [
        ("Pick", 0, 2, 0),
        ("Place", 4, 8, 0),
        ("Pick", 8, 10, SkillCode.TOO_FAR),
    ]
    assert [(p.step, p.percent_complete) for p in made.progress] == [(0, 0.0), (6, 0.5)]
    assert [made.percent_at(step) for step in (0, 5, 6, 99)] == [0.0, 0.0, 0.5, 0.5]
    assert [(m.step, m.x_m, m.y_m) for m in made.moves] == [(0, 1, 1), (2, 2, 3)]
    assert [(h.step, h.entity) for h in made.holds] == [(2, "cup_0"), (6, "")]
    assert [d.planner for d in made.decisions] == ["react"]
    assert made.episode.planner == "react"
    assert [a.uid for a in made.episode.agents] == ["agent_0"]
    assert made.end.first_steps == (6, None)
    assert (made.end.reason, made.end.sim_steps) == ("done", 10)


def test_what_is_written_is_read(made: EpisodeTrace, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_traces(path, [made, made])
    assert list(read_traces(path)) == [made, made]
    with pytest.raises(FileError, match="cannot be written"):
        write_traces(tmp_path / "nowhere" / "run.jsonl", [made])


def test_the_published_schema_is_current() -> None:
    published = (ROOT / "docs" / "schema" / FILE_NAME).read_text(encoding="utf-8")
    assert published == schema_text(), "run: python -m planner.evaluation.trace docs/schema"


def broken(lines: list[str], number: int, **changes: object) -> str:
    document = {**json.loads(lines[number]), **changes}
    return "\n".join([*lines[:number], json.dumps(document), *lines[number + 1 :]])


CASES = {
    "not JSON": (lambda t: ["{"], "line 1: is not well formed"),
    "no such record": (lambda t: broken(t, 1, record="step"), "line 2: .*'step'"),
    "unknown field": (lambda t: broken(t, 1, wall=1), "line 2.wall: "),
    "negative step": (lambda t: broken(t, 1, ended_step=-1), "line 2.ended_step: .*greater"),
    "step is not a number": (lambda t: broken(t, 1, ended_step="9"), "line 2.ended_step: "),
    "huge step": (lambda t: broken(t, 1, ended_step=10**30), "line 2.ended_step: "),
    "NaN": (lambda t: broken(t, 8, x_m=float("nan")), "line 9.x_m: .*finite"),
    "another version": (lambda t: broken(t, 0, version=2), "line 1.version: "),
    "before it starts": (lambda t: broken(t, 1, ended_step=0, started_step=5), "before it starts"),
    "a stranger": (lambda t: broken(t, 1, agent="agent_7"), "no agent 'agent_7'"),
    "truncated": (lambda t: t[:-1], "line 13: ends in the middle of an episode"),
    "no episode": (lambda t: t[1:], "line 1: no episode yet"),
    "twice": (lambda t: [*t[:3], *t], "an episode begins before the last one ended"),
    "other propositions": (
        lambda t: broken(t, 5, satisfied=[]),
        "expected results of 2 propositions",
    ),
    "success": (lambda t: broken(t, 13, success=True), "success is not that all"),
    "order": (lambda t: [*t[:5], t[6], t[5], *t[7:]], "not in the order of their steps"),
    "deep": (lambda t: [t[0], "[" * 100_000], "line 2: is nested too deeply"),
    "a large number": (lambda t: [t[0], "9" * 5_000], "line 2: is not well formed"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_file_is_one_error_with_file_line_and_reason(case, made, tmp_path) -> None:
    change, reason = CASES[case]
    path = tmp_path / "run.jsonl"
    write_traces(path, [made])
    changed = change(path.read_text(encoding="utf-8").splitlines())
    path.write_text(changed if isinstance(changed, str) else "\n".join(changed), encoding="utf-8")
    with pytest.raises(FileError, match=reason) as caught:
        list(read_traces(path))
    assert caught.value.file == str(path)


def test_a_missing_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        list(read_traces(tmp_path / "no.jsonl"))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_one_error(tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("any") / "run.jsonl"
    path.write_bytes(data)
    with contextlib.suppress(FileError):
        assert list(read_traces(path)) == []
