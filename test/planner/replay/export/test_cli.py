"""The command: what it writes where, and one clear error for what it cannot."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from planner import cli


def export(*words: object) -> int:
    return cli.main(["export", *map(str, words)])


@pytest.fixture
def bag(tapes) -> Path:
    return tapes.run()


def said(capsys) -> str:
    return capsys.readouterr().err


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("to", ["csv", "video", "lerobot", "rerun"])
def test_each_format_is_written_beside_the_bag_and_the_bag_stays_as_it_is(
    bag, tmp_path, monkeypatch, capsys, to
) -> None:
    if to == "rerun":
        pytest.importorskip("rerun", reason="Rerun is not installed: the extra viewer")
    before = files(bag)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    assert export(bag, "--to", to) == 0
    name = {"csv": "bag_csv", "video": "bag.mp4", "lerobot": "bag_lerobot", "rerun": "bag.rrd"}[to]
    assert [p.name for p in work.iterdir()] == [name]
    assert capsys.readouterr().out.startswith(f"{name}: ")
    assert files(bag) == before
    assert export(bag, "--to", to) == 2
    assert "exists already; --force replaces it" in said(capsys)
    assert export(bag, "--to", to, "--force") == 0


@pytest.mark.slow
def test_several_bags_are_one_data_set(tapes, tmp_path, capsys) -> None:
    bags = [tapes.run("one"), tapes.run("two")]
    assert export(*bags, "--to", "lerobot", "-o", tmp_path / "made", "--fps", 5) == 0
    assert capsys.readouterr().out.endswith("made: 2 episodes, 42 frames\n")
    assert export(*bags, "--to", "csv") == 2
    assert said(capsys) == "error: --to csv takes one bag, not 2\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--to", "csv", "--fps", "5"], "--fps is not an option of --to csv"),
        (["--to", "video", "--topics", "/a"], "--topics is not an option of --to video"),
        (["--to", "rerun", "--no-language-columns"], "--no-language-columns is not an option"),
        (["--to", "video", "--fps", "0"], "--fps 0: from 1 to 120"),
        (["--to", "video", "--speed", "nan"], "--speed nan: from 0.01 to 1000"),
        (["--to", "video", "--agent", "spot"], "/spot/camera/hand/image: there are no such"),
        (["--to", "lerobot", "--camera", "left"], "the bag has those of agent_0's hand"),
        (["--to", "csv", "--topics", "/none"], "/none: is not a topic of this bag"),
    ],
)
def test_what_cannot_be_done_is_one_line(bag, tmp_path, capsys, words, reason) -> None:
    assert export(bag, *words, "-o", tmp_path / "made") == 2
    line = said(capsys)
    assert reason in line
    assert line.count("\n") == 1
    assert not [p for p in tmp_path.iterdir() if p != bag]


def test_nothing_is_written_into_a_bag(bag, monkeypatch, capsys) -> None:
    before = files(bag)
    assert export(bag, "--to", "csv", "-o", bag / "tables") == 2
    assert "lies in the bag" in said(capsys)
    monkeypatch.chdir(bag)
    assert export(".", "--to", "csv") == 2
    assert files(bag) == before


def test_a_missing_library_is_named(bag, tmp_path, monkeypatch, capsys) -> None:
    for to, library, extra in (("video", "av", "export"), ("rerun", "rerun", "viewer")):
        monkeypatch.setitem(sys.modules, library, None)
        assert export(bag, "--to", to, "-o", tmp_path / "made") == 2
        told = f"needs the Python package {library}: pip install 'planner[{extra}]'"
        assert told in said(capsys)


@pytest.mark.slow
@pytest.mark.parametrize("to", ["csv", "video", "lerobot"])
def test_a_bag_that_was_cut_short_is_exported_as_far_as_it_goes(bag, tmp_path, capsys, to) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(bag, cut)
    (file,) = cut.glob("*.mcap")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) * 3 // 4])
    before = files(cut)
    assert export(cut, "--to", to, "-o", tmp_path / "made") == 0
    assert "the bag was cut short" in said(capsys)
    assert files(cut) == before


@pytest.mark.parametrize("damage", ["no folder", "no bag", "empty bag"])
def test_what_is_no_bag_is_refused(tapes, tmp_path, capsys, damage) -> None:
    bag = tmp_path / "x"
    if damage == "no bag":
        bag.mkdir()
        (bag / "x.mcap").write_bytes(b"nothing of the kind" * 100)
    elif damage == "empty bag":
        tapes.tape("x").close()
    assert export(bag, "--to", "csv", "-o", tmp_path / "made") == 2
    assert said(capsys).startswith("error: ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("to", ["video", "lerobot"])
def test_a_topic_of_another_type_is_one_clear_error(tapes, tmp_path, capsys, to) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    tape.picture("agent_0", 0.0)
    tape.put("/evaluation", "std_msgs/String", 0.5, data="well done")
    assert export(tape.close(), "--to", to, "-o", tmp_path / "made") == 2
    line = said(capsys)
    assert "/evaluation: is no std_msgs/msg/String as this planner reads it" in line
    assert line.count("\n") == 1
