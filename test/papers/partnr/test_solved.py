"""What solved episodes teach: examples and samples, and what is kept out of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from repeated_run import run_and_repeat

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.run_cli import Evaluated
from planner.cli import main
from planner.planning.planner_model import TOKEN, PastAction, prompt, world_of
from planner.planning.solved_tasks import EvaluatedError, SolvedTask, TraceStore

ONE = ["bench", "desk_tidy_0", "--memory", "full", "--agents", "1", "--quiet"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of the privileged baseline, and one of a model that says the same again."""
    return run_and_repeat(tmp_path_factory.mktemp("runs"), ONE)


def _filled(run: Path, store: Path, *more: str) -> int:
    return main(["bench", "examples", str(run), "--store", str(store), *more])


@pytest.mark.slow
def test_a_store_is_filled_from_a_run_once(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "traces.db"
    assert _filled(runs[1], store) == 0
    assert "1 added, 1 examples now" in capsys.readouterr().out
    assert _filled(runs[1], store) == 0
    assert "0 added, 1 examples now" in capsys.readouterr().out
    (row,) = newest_rows(runs[1] / ROWS_NAME).values()
    with TraceStore(store) as opened:
        (found,) = opened.nearest(row.instruction)
    assert found.task.source.endswith(f"said {row.trace}")
    lines = found.task.transcript.splitlines()
    assert lines[0] == f"Task: {row.instruction}"
    assert lines[-3:] == ["Thought: This is the next step.", "Done[]", "Assigned!"]
    assert "Possible Actions:" not in lines
    results = [line for line in lines if line.startswith("Result: ")]
    assert len(results) == row.cost.calls - 1, "every result but that of Done"


def test_check_39_what_is_evaluated_never_comes_from_a_run(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PARTNR-C39, second half."""
    store = tmp_path / "traces.db"
    assert _filled(runs[1], store) == 0
    assert _filled(runs[1], store, "--keep-out", "desk_tidy_0") == 0
    told = capsys.readouterr().out
    assert "0; 1 with an instruction of an evaluation" in told
    assert "1 of an evaluation removed, 0 examples now" in told
    # And it stays out, whoever adds it.
    (row,) = newest_rows(runs[1] / ROWS_NAME).values()
    with TraceStore(store) as opened, pytest.raises(EvaluatedError):
        opened.add([SolvedTask(row.instruction, "x")])


def test_the_shipped_evaluation_is_always_kept_out() -> None:
    evaluated = Evaluated.of([])
    assert len(evaluated.instructions) > 20
    assert f"  {evaluated.instructions[0]}\n" in evaluated
    assert "Tidy the desk." not in evaluated


def test_check_39_a_planner_is_not_evaluated_on_what_its_store_holds(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "traces.db"
    assert _filled(runs[1], store) == 0
    rag = ["--planner", "partnr_rag", "--model", "scripted:/nowhere", "--traces", str(store)]
    assert main([*ONE, *rag, "--out", str(tmp_path / "run")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "holds the solutions of 1 instructions of this suite" in line
    assert not (tmp_path / "run").exists()


def test_samples_are_the_successful_actions_and_the_end(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PARTNR-C38, from a run's files."""
    out = tmp_path / "samples.jsonl"
    assert main(["bench", "samples", str(runs[1]), "--out", str(out)]) == 0
    samples = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert f"samples: {len(samples)}" in capsys.readouterr().out
    (row,) = newest_rows(runs[1] / ROWS_NAME).values()
    assert row.verdict is not None
    assert row.verdict.failed_skills == 0
    assert len(samples) == row.verdict.skill_calls
    assert samples[-1]["target"] == "Done[]"
    for sample in samples:
        assert sample["prompt"].startswith(f"Task: {row.instruction}\n")
        assert sample["prompt"].endswith(TOKEN)
        assert world_of(sample["prompt"]).startswith("Furniture:\n")
        assert "Thought" not in sample["prompt"]
        assert "Possible Actions" not in sample["prompt"]
    kept_out = ["--keep-out", "desk_tidy_0", "--out", str(out)]
    assert main(["bench", "samples", str(runs[1]), *kept_out]) == 0
    assert out.read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("word", ["examples", "samples"])
def test_a_run_without_a_model_teaches_nothing(
    runs: tuple[Path, Path], tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "--store" if word == "examples" else "--out"
    assert main(["bench", word, str(runs[0]), target, str(tmp_path / "x")]) == 2
    assert "its planner heuristic_expert used no model" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_prompts_world_is_read_back() -> None:
    world = "Furniture:\nkitchen_0: table_0\nObjects:\nNo objects found yet"
    past = [PastAction("Navigate[table_0]", "Successful execution!", is_own=True)]
    assert world_of(prompt("Tidy.", world, past)) == world
    assert world_of(prompt("Tidy.", world, [])) == world
