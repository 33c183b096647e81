"""`planner train et-sft`: from the agent's runs to a model that answers its questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_models import make_tiny

from papers.et_plan_bench.questions import KINDS, questions_of
from papers.et_plan_bench.tuning_command import (
    SFT_RECIPE,
    TAUGHT,
    lines_of,
    success_by_category,
    taught,
)
from planner.bench.runs.manifest import find_suite
from planner.cli import main
from planner.training.chat_tuning import read_chats
from planner.world.errors import PlannerError


def tasks(folder: Path, house: str, count: int, *categories: str) -> Path:
    words = ["episodes", "generate", "et-plan", "--house", house, "--count", str(count)]
    chosen = [word for category in categories for word in ("--category", category)]
    assert main([*words, *chosen, "-o", str(folder)]) == 0
    return folder


def sft(suite: Path | str, model: Path, out: Path, *more: str) -> int:
    command = ["train", "et-sft", str(suite), "--model", str(model), "--out", str(out)]
    return main([*command, *more])


def test_our_numbers_are_the_defaults() -> None:
    """ETPLAN-D73."""
    assert (SFT_RECIPE.rank, SFT_RECIPE.rate, SFT_RECIPE.batch, SFT_RECIPE.epochs) == (
        16,
        2e-4,
        16,
        3,
    )


def test_folders_that_do_not_fit_are_one_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert sft("nothing", tmp_path, out) != 0
    assert "is not a model folder: no config.json" in capsys.readouterr().err
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    assert sft("nothing", tmp_path, out) != 0
    assert "holds something else: thesis.tex" in capsys.readouterr().err
    assert sft("nothing", tmp_path, tmp_path / "new", "--houses", "11") != 0
    assert "expected --houses from 0 to 10" in capsys.readouterr().err


@pytest.mark.slow
def test_tasks_in_a_test_house_are_refused_and_others_sorted(tmp_path: Path) -> None:
    kept_back = tasks(tmp_path / "test", "et_test_0", 1, "navigation")
    with pytest.raises(PlannerError, match="et_test_0: is a house of the split test"):
        taught(find_suite(str(kept_back)))
    mixed = tasks(tmp_path / "train", "et_train_0", 2, "navigation", "two_objects")
    suite = find_suite(str(mixed))
    assert [entry.episode_id for entry in taught(suite)] == ["et_train_0-navigation-0000"]
    others = tuple(entry for entry in suite if "two_objects" in entry.episode_id)
    with pytest.raises(PlannerError, match="no task is of a category that is taught: navigation"):
        taught(others)
    found = success_by_category(suite, [])
    assert found["two_objects"] == {"taught": False, "tasks": 1, "solved": 0}
    assert lines_of({"success": found})[1] == "two_objects (not taught): 0 of 1 solved"


@pytest.mark.slow
def test_a_tiny_model_is_taught_to_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("torch", "transformers", "peft", "llguidance"):
        pytest.importorskip(name, reason=f"needs the extra train ({name})")
    model, out = make_tiny(tmp_path / "tiny"), tmp_path / "out"
    suite = tasks(tmp_path / "train", "et_train_0", 4, *TAUGHT)
    test = tasks(tmp_path / "test", "et_test_0", 1, "navigation")
    numbers = ["--epochs", "2", "--batch", "4", "--rate", "0.01"]
    asked = ["--houses", "1", "--questions", "1", "--test", str(test)]
    assert sft(suite, model, out, *numbers, *asked, "--trained", "merged") == 0
    said = capsys.readouterr().out
    assert "of 4 tasks solved" in said
    assert f"use: --planner et_agent --model local:{out / 'model'}" in said
    gathered = questions_of(out / "runs" / "teacher")
    assert {question.kind for question in gathered.questions} <= set(KINDS.values())
    chats = read_chats([out / "questions" / "questions_0000.jsonl"])
    assert len(chats) == len(gathered.questions) > 0
    scores = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    for when in ("before", "after"):
        assert scores[when]["ranking"]["rooms"]["cases"] == 1
        assert scores[when]["success"]["navigation"]["tasks"] == 1
    assert (out / "model" / "model.safetensors").is_file()
