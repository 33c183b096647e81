"""An instruction in words is drawn as it is understood."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli import main
from planner.episodes.drawing.cli import draw_understood
from planner.episodes.drawing.shapes import Path as Line
from planner.episodes.drawing.shapes import Picture, Text, proposition_colour
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.world.house_checks import load_house


def _drawn(text: str) -> Picture:
    goal = interpret(text)
    assert isinstance(goal, Goal)
    return draw_understood(text, goal, load_house("train_0"))


def _words(picture: Picture) -> list[str]:
    return [shape.text for shape in picture.shapes if isinstance(shape, Text)]


def test_things_that_fit_alike_are_alternatives_and_asked_about() -> None:
    picture = _drawn("Put the globe on the table.")
    words = _words(picture)
    assert "1. put the globe on the table" in words
    assert any(word.startswith("To be asked: Which table") for word in words)
    lines = [s for s in picture.shapes if isinstance(s, Line)]
    arrows = [line for line in lines if line.stroke == proposition_colour(0)]
    assert [line.dashed for line in arrows] == [True] * 3


def test_what_is_not_possible_is_said() -> None:
    words = _words(_drawn("Put the book on the desk, then turn on the radio."))
    assert "Not possible: There is no book." in words
    assert "to be powered" in words


def test_what_is_to_be_open_is_written_at_it() -> None:
    words = _words(_drawn("Open the fridge."))
    assert "to be open" in words


def test_the_command_takes_an_instruction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "Put the globe on the desk."
    assert main(["episodes", "draw", text, "-o", "a.svg"]) == 0
    assert "1. put the globe on the desk" in Path("a.svg").read_text("utf-8")
    for bad, reason in (
        ("Put it there.", "the planner would ask: "),
        ("Frob the gizmo.", "not understood"),
    ):
        capsys.readouterr()
        assert main(["episodes", "draw", bad]) == 2
        said = capsys.readouterr().err
        assert reason in said
        assert said.count("\n") == 1
    assert main(["episodes", "draw", text, "--house", "train_99"]) == 2
    assert "train_9" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]
