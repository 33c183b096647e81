"""Where findings go, and what is never overwritten."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.cli import main
from planner.replay.replay_cli import output_folder, run_through
from planner.replay.through.request import plain
from planner.world.errors import PlannerError


def test_findings_go_beside_the_bag(tmp_path: Path) -> None:
    bag = tmp_path / "runs" / "bag"
    bag.mkdir(parents=True)
    made = output_folder(bag, None)
    assert made.parent == bag.parent
    assert made.name.startswith("bag_through_")
    assert output_folder(bag, tmp_path / "found") == tmp_path / "found"


def test_nothing_is_written_into_a_bag_or_over_anything(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    bag.mkdir()
    for folder in (bag, bag / "found", tmp_path / "x" / ".." / "bag" / "found"):
        with pytest.raises(PlannerError, match="inside the bag"):
            output_folder(bag, folder)
    (tmp_path / "there").mkdir()
    with pytest.raises(PlannerError, match="nothing is overwritten"):
        output_folder(bag, tmp_path / "there")


@pytest.mark.slow
def test_a_bag_is_left_as_it_was(decided_bag: Path, through: Callable[..., Path]) -> None:
    before = {path.name: path.read_bytes() for path in decided_bag.iterdir()}
    through(decided_bag, "evaluator")
    assert {path.name: path.read_bytes() for path in decided_bag.iterdir()} == before


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    args = {"output": None, "start": 0.0, "duration": None}
    with pytest.raises(PlannerError, match="nowhere"):
        run_through(Namespace(bag=tmp_path / "nowhere", through=["evaluator"], **args))
    with pytest.raises(PlannerError, match="name one part"):
        run_through(Namespace(bag=tmp_path / "nowhere", through=["model:=m"], **args))


@pytest.mark.parametrize("start", [-1.0, 1e9, float("nan")])
def test_a_part_must_be_there(decided_bag: Path, tmp_path: Path, start: float) -> None:
    args = {"through": ["evaluator"], "output": tmp_path / "found"}
    with pytest.raises(PlannerError, match="--start"):
        run_through(Namespace(bag=decided_bag, start=start, duration=None, **args))
    with pytest.raises(PlannerError, match="--duration"):
        run_through(Namespace(bag=decided_bag, start=0.0, duration=0.0, **args))


def test_text_of_a_bag_moves_no_cursor() -> None:
    assert plain("a\x1b[2Jb\r\nc\u202ed") == "a [2Jb  c d"
    assert len(plain("x" * 1000)) == 160


def test_the_command_ends_with_0_whatever_it_finds_and_2_for_an_error(
    decided_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["replay", str(decided_bag), "-o", str(tmp_path / "found"), "--through"]
    assert main([*words, "memory:=none"]) == 0
    assert f"saved: {tmp_path / 'found' / 'differences.jsonl'}" in capsys.readouterr().out
    assert main([*words, "memory:=none"]) == 2
    assert "exists already, nothing is overwritten" in capsys.readouterr().err
    assert main([*words[:2], "--through", "memory:=learned"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert not [path for path in decided_bag.parent.iterdir() if "_through_" in path.name]
