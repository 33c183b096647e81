"""`planner houses` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import graph_kitchen as kitchen
import pytest
from PIL import Image

from planner.cli import main
from planner.houses.part import ReadHouse
from planner.world.house import House, house_json
from planner.world.house_checks import load_house

Capture = pytest.CaptureFixture[str]


def test_generate_check_and_draw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "mine.json", tmp_path / "mine.png"
    assert main(["houses", "generate", "--seed", "5", "--rooms", "5", "-o", str(file)]) == 0
    assert len(load_house(file).rooms) == 5
    assert main(["houses", "check", str(file)]) == 0
    assert "sound, 5 rooms" in capsys.readouterr().out
    assert main(["houses", "draw", str(file), "-o", str(picture), "--scale", "30"]) == 0
    with Image.open(picture) as image:
        assert image.width > 200


def test_a_scene_graph_is_checked_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, picture = kitchen.written(tmp_path), tmp_path / "home.png"
    assert main(["houses", "check", str(path)]) == 0
    assert "sound, 2 rooms" in capsys.readouterr().out
    assert main(["houses", "draw", str(path), "-o", str(picture), "--scale", "30"]) == 0
    assert picture.stat().st_size > 0
    broken = kitchen.graph()
    broken["edges"].append(kitchen.edge(kitchen.PEAR, "ON", 99))
    assert main(["houses", "check", str(kitchen.written(tmp_path, broken))]) == 1
    assert capsys.readouterr().out.endswith("edges.8.to_id: there is no node 99\n")


def test_generate_prints_the_house(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--room", "bedroom=2", "--room", "living room=1", "--objects", "3"]
    assert main(["houses", "generate", "--seed", "5", *words]) == 0
    path = tmp_path / "printed.json"
    path.write_text(capsys.readouterr().out)
    house = load_house(path)
    assert [room.class_name for room in house.rooms] == ["living_room", "bedroom", "bedroom"]
    assert len(house.objects) == 3


def test_check_prints_every_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.json"
    text = (Path(__file__).parents[3] / "config/houses/train/train_0.json").read_text()
    path.write_text(text.replace('"class_name":"bed"', '"class_name":"throne"'))
    assert main(["houses", "check", str(path), "train_1"]) == 1
    out = capsys.readouterr().out
    assert "class_name: unknown class of furniture 'throne'" in out
    assert "train_1.json: sound" in out


def test_check_tells_a_file_that_is_no_house(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.json"
    path.write_text('{"version": 3}')
    assert main(["houses", "check", str(path)]) == 1
    assert "version 3 is not supported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["draw", "castle"], "there is no house 'castle'"),
        (["draw", "train_0", "--scale", "1e9"], "from 10 to 400"),
        (["check", "castle"], "there is no house 'castle'"),
        (["generate", "--seed", "1", "--room", "dungeon=1"], "dungeon=1"),
        (["generate", "--seed", "1", "--room", "bedroom=x"], "bedroom=x"),
        (["generate", "--seed", "1", "--room", "bedroom=1", "--rooms", "5"], "not both"),
        (["generate", "--seed", "1", "--rooms", "99"], "4 to 12"),
        (["generate", "--seed", "-1"], "seed"),
        (["generate", "--seed", "1", "--name", "a/b"], "name"),
        (["generate", "--seed", "1", "-o", "/nowhere/at/all.json"], "cannot be written"),
    ],
)
def test_a_wrong_word_is_one_line(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["houses", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert reason in error
    assert error.count("\n") == 1


def test_list_names_the_shipped_houses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["houses", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 13
    assert any(line.startswith("bench_8x60x150") for line in lines)


def test_what_an_imported_house_would_be_refused_for_is_said(
    small_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Such as a room that no door leads to."""
    closet = {"name": "closet_0", "class_name": "closet"}
    document = json.loads(house_json(small_house))
    document["rooms"].append({**closet, "polygon_m": [[8, 0], [10, 0], [10, 4], [8, 4]]})
    read = ReadHouse(House.model_validate(document), ("a lamp has no mesh",), storey=0, storeys=1)
    source = SimpleNamespace(scenes=("home",), read=lambda _scene, _storey: read)
    for words, scene in (["-o", str(tmp_path / "home.json")], "home"), (["--all"], None):
        monkeypatch.setattr("planner.houses.cli._words", lambda _, found=scene: (source, found))
        assert main(["houses", "import", "home", *words]) == 0
        shown = capsys.readouterr().out
        assert "a lamp has no mesh" in shown
        assert "closet_0 cannot be reached from the rest of the house" in shown
