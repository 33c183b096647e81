"""`planner train hd` and `planner train ddaft`: what they take, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from tiny_models import HAS_TORCH, make_tiny

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.cli import main
from planner.models.recorded import read_dialogue
from planner.planning.numbered_dialogue import Wording
from planner.training.traces.folder import TraceFolder, learnable_path, read_shard
from planner.training.traces.record import Provenance, Trace, TraceTurn, messages_of
from planner.world.share import config_dir
from planner.world.skill import SUCCESS_TEXT

RUN = ["train", "ddaft", "desk_tidy_0", "--evaluate", "none"]
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="the extra `train` (torch) is not installed")


def _trace(reward: Literal[0, 1]) -> Trace:
    call = TraceTurn(call="Navigate[Object.100]", result=SUCCESS_TEXT)
    return Trace(
        instruction="Go to the table.",
        agent="agent_0",
        team=("agent_0",),
        verbs=("Navigate", "Done"),
        entities=("Object.100: table in kitchen_0",),
        turns=(call, TraceTurn(call="Done[]")),
        reward=reward,
        percent_complete=float(reward),
        provenance=Provenance(source="expert", run="r", episode_id="e", house="train_0"),
    )


def _said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


@pytest.mark.slow
def test_bad_input_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hd = ["train", "hd", str(tmp_path), "--model", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(hd) == 2
    assert f"{tmp_path}/manifest.json: cannot be read" in _said(capsys)
    assert main([*hd, "--rank", "0"]) == 2
    ddaft = [*RUN, "--model", str(tmp_path), "--out", str(tmp_path / "out")]
    for more, reason in (
        (["--samples", "0"], "samples"),
        (["--temperature", "-1"], "--temperature is -1.0, below 0"),
        (["--evaluate", "desk_tidy_0"], "1 tasks of desk_tidy_0 have instructions of desk_tidy_0"),
        (["--evaluate", "heldout", "--evaluate-count", "-1"], "--evaluate-count is -1, below 0"),
        (["--evaluate", "heldout", "--evaluate-count", "9999"], "9999 episodes are asked for"),
        (["--count", "-1"], "--count is -1, below 0"),
        (["--count", "2"], "2 episodes are asked for, and the suite has 1"),
        (["--epochs", "0"], "epochs, rate, batch, rank and save-every must be above 0"),
        (["--played-by", "smollm2", "--trained", "whole"], "smollm2 needs --trained adapter"),
        (["--option", "wordings=short"], "--option wordings: react has "),
        (["--option", "wording"], "--option wording: expected NAME=VALUE"),
    ):
        assert main([*ddaft, *more]) == 2
        assert reason in _said(capsys)


@needs_torch
def test_traces_are_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = TraceFolder(tmp_path / "traces", {"seed": 1}, 1)
    folder.write(0, [_trace(1), _trace(0)])
    folder.finish()
    tiny = make_tiny(tmp_path / "tiny")
    out = tmp_path / "hd"
    words = ["train", "hd", str(tmp_path / "traces"), "--model", str(tiny), "--out", str(out)]
    assert main([*words, "--epochs", "2", "--rank", "4", "--trained", "merged"]) == 0
    said = capsys.readouterr().out
    assert "step 1 of 1: loss" in said
    assert f"1 dialogues learned; use: --planner react --model local:{out}/model" in said
    assert json.loads((out / "model" / "config.json").read_text())["model_type"] == "qwen2"


def test_what_is_learned_of_a_run_is_what_was_asked_turn_by_turn(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = ["--planner", "react", "--model", "teacher", "--wording", "short"]
    words += ["--offers", "possible", "--agents", "1", "--keep-traces", "--quiet"]
    assert main(["bench", "desk_tidy_0", *words, "--out", str(run)]) == 0
    (row,) = newest_rows(run / ROWS_NAME).values()
    assert row.verdict is not None
    assert row.verdict.success
    (trace,) = read_shard(learnable_path(run / "traces" / row.trace))
    last = read_dialogue(run / "traces" / f"{row.trace}.dialogue.jsonl").turns[-1]
    asked = [(message.speaker, message.text) for message in last.messages]
    told = [(message.speaker, message.text) for message in messages_of(trace, Wording.SHORT)]
    assert told[: len(asked)] == asked
    # Which tells its errands, and what became of them.
    assert "put stapler within filing cabinet: not seen" in asked[1][1]
    assert any("stapler_150 in hand" in text for _, text in asked)
    assert asked[-1][1].endswith("Nothing left.")
    assert told[len(asked)][1].startswith("Done[]")


@needs_torch
def test_of_a_run_all_calls_that_were_kept_are_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = make_tiny(tmp_path / "tiny", context=16_384)
    run, out = tmp_path / "run", tmp_path / "hd"
    assert (
        main(
            ["bench", "desk_tidy_0", "--agents", "1", "--keep-traces", "--quiet", "--out", str(run)]
        )
        == 0
    )
    words = ["train", "hd", str(run), "--model", str(tiny), "--out", str(out), "--rank", "4"]
    assert main([*words, "--wording", "short", "--searches", "1", "--tuning-steps", "1"]) == 0
    assert "1 dialogues learned" in capsys.readouterr().out
    # Whoever asked no model has no dialogues else.
    for kept in run.glob("traces/*.learnable.jsonl"):
        kept.unlink()
    assert main(words) == 2
    assert "used no model" in _said(capsys)


@needs_torch
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_model_that_solves_nothing_is_told_after_its_first_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = make_tiny(tmp_path / "tiny", context=16_384)
    out = tmp_path / "ddaft"
    words = [*RUN, "--model", str(tiny), "--out", str(out), "--max-cycles", "2"]
    assert main([*words, "--first-rounds", "2", "--at-once", "2"]) == 2
    assert "none of 2 roll-outs solved its task" in _said(capsys)
    rows = newest_rows(out / "iteration_0" / "rollouts" / ROWS_NAME)
    assert [row.verdict is not None for row in rows.values()] == [True, True]
    assert {row.planner for row in rows.values()} == {"react"}
    # Nothing is run again.
    assert main([*words, "--first-rounds", "2"]) == 2
    assert newest_rows(out / "iteration_0" / "rollouts" / ROWS_NAME) == rows


@pytest.mark.slow
def test_llama_cpp_plays_a_policy_with_its_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xllamacpp", reason="needs the extra smollm")
    out = tmp_path / "ddaft"
    # Its first policy is the adapter that ships; the base is only read where something is learned.
    words = [*RUN, "--model", str(tmp_path), "--out", str(out), "--played-by", "smollm2"]
    words += ["--start", str(config_dir() / "models" / "react.smollm2.gguf"), "--max-cycles", "2"]
    assert main([*words, "--option", "wording=short"]) == 2
    assert "none of 1 roll-outs solved its task" in _said(capsys)
    (row,) = newest_rows(out / "iteration_0" / "rollouts" / ROWS_NAME).values()
    assert row.verdict is not None
    assert row.verdict.end == "planner_limit"
    manifest = json.loads((out / "iteration_0" / "rollouts" / "manifest.json").read_text())
    assert manifest["settings"]["model"] == "smollm2"
    assert manifest["settings"]["options"]["wording"] == "short"
