"""PARTNR's split from its own data set in one command, on small data of the same layout."""

from __future__ import annotations

import sys
from pathlib import Path

import partnr_layout
import pytest
from hssd_layout import SCENE, episode, write_hssd, write_movables

from papers.partnr import validation_split
from planner.cli import main
from planner.world.house import House

STAND_IN = Path(__file__).parents[2] / "sim_bridge" / "habitat" / "stand_in.py"


@pytest.fixture
def words(small_house: House, tmp_path: Path) -> list[str]:
    (tmp_path / "hssd").mkdir()
    (tmp_path / "ovmm").mkdir()
    return [
        *("bench", "partnr-val"),
        *("--scenes", str(write_hssd(tmp_path / "hssd", small_house))),
        *("--objects", str(write_movables(tmp_path / "ovmm"))),
        *("--episodes", str(partnr_layout.write(tmp_path, [episode(small_house)]))),
        *("--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "run")),
    ]


@pytest.mark.slow
def test_the_split_runs_on_habitat_and_goes_on_where_it_was(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$2" "$3"\n', encoding="utf-8")
    program.chmod(0o755)
    settings = tmp_path / "habitat.yaml"
    settings.write_text(f"version: 1\npython: {program}\nanswer_timeout_s: 60.0\n")
    words += ["--backend", "habitat", "--backend-config", str(settings), "--memory", "full"]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert f"exported hssd-{SCENE}\n" in told
    lines = told.splitlines()
    (react,) = (line for line in lines if line.startswith("paper e"))
    assert "3295.20 (76.27)" in react, told
    assert "0.73 (0.01)" in react
    assert any(line.startswith("ours") and "expert" in line and "full" in line for line in lines)
    assert "1 of 1 episodes have a verdict; 1 of the 1 episodes of the file" in lines[-1]
    assert "meshes: house of its data set, things 1 of 1 of a data set, robot ours" in lines[-1]
    # The scene's own meshes were loaded: no dataset of our own was written.
    found = (tmp_path / "cache").glob(f"*/datasets/hssd-{SCENE}/*.scene_dataset_config.json")
    assert len(list(found)) == 1
    assert main(words) == 0
    again = capsys.readouterr().out
    assert "1 episodes were done before" in again
    assert "exported" not in again
    assert not list((tmp_path / "cache").rglob(".draft-*"))


@pytest.mark.parametrize("flag", ["--scenes", "--objects", "--episodes"])
def test_what_is_missing_is_one_error_that_says_what_to_get(
    words: list[str], tmp_path: Path, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at = words.index(flag)
    for given, says in (([], f"{flag} missing"), ([flag, str(tmp_path / "gone")], "gone")):
        assert main([*words[:at], *given, *words[at + 2 :]]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        for part in (says, "hssd/hssd-hab", "OVMM_objects", "partnr_episodes", "docs/habitat.md"):
            assert part in told
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "run").exists()


def test_a_scene_that_cannot_be_read_leaves_nothing(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hssd" / "stages" / f"{SCENE}.glb").unlink()
    assert main(words) == 2
    told = capsys.readouterr().err
    assert f"{SCENE}.glb" in told
    assert not list((tmp_path / "cache").rglob("*"))


def test_an_import_by_other_code_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(validation_split, "read_bytes", lambda path: read.append(path) or b"")
    validation_split.reader_digest()
    assert {"episodes.py", "goals.py", "scene.py", "glb.py"} <= {path.name for path in read}
