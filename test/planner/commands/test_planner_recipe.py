"""`planner train planner`: the whole training in one command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_models import HAS_TORCH

from planner.cli import main
from planner.commands import planner_recipe
from planner.commands.planner_recipe import RECIPE_FILE
from planner.planning.learned.chooser import read_planner, shipped_planner

NAMES = ["tasks", "traces", "first", "practice", "planner"]
TINY = [
    "--house", "train_0", "--tasks", "6", "--shown", "2", "--practised", "1", "--steps", "2",
    "--chooser-steps", "2",
]  # fmt: skip
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="the extra `train` (torch) is not installed")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stages say their names instead of running."""
    names: list[str] = []
    monkeypatch.setattr(planner_recipe, "check_torch", lambda: None)
    monkeypatch.setattr(planner_recipe.Stage, "play", lambda stage: names.append(stage.name))
    return names


@pytest.mark.needs("papers")
def test_finished_stages_are_not_run_again(
    played: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "planner", str(tmp_path / "a"), *TINY]
    assert main(words) == 0
    assert played == NAMES
    file = tmp_path / "a" / RECIPE_FILE
    record = json.loads(file.read_text(encoding="utf-8"))
    assert list(record["seconds"]) == NAMES
    # As after a kill during the last two stages.
    del record["seconds"]["practice"], record["seconds"]["planner"]
    file.write_text(json.dumps(record), encoding="utf-8")
    played.clear()
    assert main(words) == 0
    assert played == ["practice", "planner"]
    assert "tasks: done" in capsys.readouterr().out


@pytest.mark.needs("papers")
def test_what_is_practised_is_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: dict[str, str] = {}

    def note(stage: planner_recipe.Stage) -> None:
        seeds[stage.name] = stage.words[stage.words.index("--seed") + 1]

    monkeypatch.setattr(planner_recipe, "check_torch", lambda: None)
    monkeypatch.setattr(planner_recipe.Stage, "play", note)
    assert main(["train", "planner", str(tmp_path / "a"), *TINY, "--seed", "5"]) == 0
    assert seeds == {"tasks": "5", "traces": "5", "first": "5", "practice": "6", "planner": "5"}


@pytest.mark.needs("papers")
def test_bad_input_is_one_clear_error(
    played: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "planner", str(tmp_path / "a")]
    assert main([*words, "--tasks", "0"]) == 2
    assert "--tasks is 0, below 1" in capsys.readouterr().err
    assert main([*words, "--improved", "-1"]) == 2
    assert "--improved is -1, below 0" in capsys.readouterr().err
    assert main([*words, "--without", "spaceship"]) == 2
    assert "the catalogue has no class of things 'spaceship'" in capsys.readouterr().err
    assert main([*words, *TINY]) == 0
    assert main([*words, *TINY, "--seed", "3"]) == 2
    assert "settings.seed: is 7001, not 3: name a new folder" in capsys.readouterr().err
    (tmp_path / "a" / RECIPE_FILE).write_text("{", encoding="utf-8")
    assert main([*words, *TINY]) == 2
    assert RECIPE_FILE in capsys.readouterr().err
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "mine.txt").touch()
    assert main(["train", "planner", str(tmp_path / "b")]) == 2
    assert f"has mine.txt but no {RECIPE_FILE}" in capsys.readouterr().err
    assert played == NAMES


@pytest.mark.needs("papers")
@needs_torch
@pytest.mark.slow
def test_a_tiny_training_runs_to_its_end_and_resumes(tmp_path: Path) -> None:
    words = ["train", "planner", str(tmp_path / "a"), *TINY]
    assert main(words) == 0
    model = read_planner(tmp_path / "a" / "planner" / "planner.safetensors")
    first = read_planner(tmp_path / "a" / "first" / "planner.safetensors")
    # The last stage keeps the reader and the words of the first network.
    assert model.vocabulary == first.vocabulary
    assert int(model.notes["calls"]) > int(first.notes["calls"])
    before = (tmp_path / "a" / RECIPE_FILE).read_bytes()
    assert main(words) == 0
    assert (tmp_path / "a" / RECIPE_FILE).read_bytes() == before


@pytest.mark.needs("papers")
@needs_torch
@pytest.mark.slow
def test_the_last_network_is_improved_on_its_own_rollouts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    words = ["train", "planner", str(folder), *TINY, "--improved", "2", "--without", "apple"]
    play = planner_recipe.Stage.play

    def only_tasks_and_ddaft(stage: planner_recipe.Stage) -> None:
        if stage.name in ("tasks", "ddaft"):
            play(stage)

    # Two steps of training solve nothing, so the weights that ship stand for them.
    monkeypatch.setattr(planner_recipe.Stage, "play", only_tasks_and_ddaft)
    start = folder / "planner" / "planner.safetensors"
    with monkeypatch.context() as context:
        context.setattr(planner_recipe.Stage, "play", lambda stage: None)
        assert main(words) == 0
    start.parent.mkdir()
    start.write_bytes(shipped_planner().read_bytes())
    record = json.loads((folder / RECIPE_FILE).read_text(encoding="utf-8"))
    assert list(record["seconds"]) == [*NAMES, "ddaft"]
    del record["seconds"]["tasks"], record["seconds"]["ddaft"]
    (folder / RECIPE_FILE).write_text(json.dumps(record), encoding="utf-8")
    assert main(words) == 0
    weights = folder / "ddaft" / "iteration_4" / "policy" / "planner.safetensors"
    assert str(weights) in capsys.readouterr().out.splitlines()[-1]
    before, after = read_planner(start).weights, read_planner(weights).weights
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed
    assert all(name.startswith("choose") for name in changed)
