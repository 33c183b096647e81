"""`planner memory` on the file of a run that ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planner.cli import main
from planner.memory.settings import open_memory, store_path
from planner.world.house_checks import load_house


@pytest.fixture
def store(tmp_path: Path) -> str:
    house = load_house("train_0")
    open_memory(house, None, folder=tmp_path, episode="e", agents={}, clock_s=0.0).close()
    return str(store_path(tmp_path, "e"))


def test_edits_are_kept_and_found(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    def edit(*words: str) -> int:
        return main(["memory", "edit", "--store", store, *words])

    assert edit("add", "cup", "--at", "1.0", "1.0", "0.1") == 0
    number = capsys.readouterr().out.partition(":")[0]
    assert edit("rename", number, "mug") == 0
    name = f"mug_{number.removeprefix('Object.')}"
    assert edit("move", name, "--onto", load_house("train_0").furniture[0].name) == 0
    capsys.readouterr()
    assert main(["memory", "query", "--store", store, "--json", "where is the mug?"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (entity,) = answer["entities"]
    assert (entity["name"], entity["source"], answer["matched_by"]) == (name, "told", "words")
    assert entity["parent"] == load_house("train_0").furniture[0].name
    assert edit("remove", name) == 0
    assert main(["memory", "query", "--store", store, "where is the mug?"]) == 0
    assert "Nothing like that is remembered." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["remove", "ghost_1"], "there is no ghost_1 in the memory"),
        (["add", "cup", "--at", "nan", "0", "0"], "at: x is nan, expected a finite number"),
        (["state", "100", "shiny"], "state: 'shiny' is none of clean"),
        (["move", "100"], "move: give either --at or --onto"),
    ],
)
def test_a_wrong_edit_is_one_clear_error(
    store: str, words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "edit", "--store", store, *words]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
