"""`planner houses export`: one command a format, one line on what was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.cli import main
from planner.world.house import House, write_house


@pytest.mark.needs("sim_bridge/habitat")
@pytest.mark.slow
def test_a_shipped_house_is_exported_for_both_simulators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["houses", "export", "habitat", "train_0", "-o", str(tmp_path / "h")]) == 0
    assert (tmp_path / "h/train_0.scene_dataset_config.json").is_file()
    assert "scene scenes/train_0.scene_instance.json" in capsys.readouterr().out
    assert main(["houses", "export", "mujoco", "train_0", "-o", str(tmp_path / "m")]) == 0
    assert (tmp_path / "m/train_0.xml").is_file()


@pytest.mark.slow
def test_a_house_is_explored_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small_house: House
) -> None:
    house, picture = tmp_path / "small.json", tmp_path / "explored.png"
    write_house(small_house, house)
    assert main(["houses", "explore", str(house), "-o", str(picture)]) == 0
    said = re.search(r"small: ([\d.]+)% of the floor", capsys.readouterr().out)
    assert said is not None
    assert float(said[1]) >= 95.0
    assert picture.stat().st_size > 1000


@pytest.mark.needs("sim_bridge/habitat")
def test_an_unknown_house_and_a_full_folder_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["houses", "export", "habitat", "nowhere", "-o", str(tmp_path)]) == 2
    assert "there is no house 'nowhere'" in capsys.readouterr().err
    (tmp_path / "note.txt").write_text("", encoding="utf-8")
    assert main(["houses", "export", "habitat", "train_0", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
