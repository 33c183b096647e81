"""The arguments of `planner approve`, what it shows and what may be typed. No ROS."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from planner.operate.cli import (
    Answer,
    ApproveRequest,
    Place,
    Question,
    add_approve_arguments,
    parse_answer,
    read_request,
)
from planner.world.errors import PlannerError

SHOWN = Question(
    "ab-1", "agent_0", "pick", "cup", "no pick of a cup was approved yet", (1.0, 2.0, 0.8),
    (320, 200), True, 100.0, 160.0,
)  # fmt: skip


def request(*words: str) -> ApproveRequest:
    parser = argparse.ArgumentParser()
    add_approve_arguments(parser)
    return read_request(parser.parse_args(list(words)), interactive=False)


def test_the_arguments_become_an_order() -> None:
    assert request("agent_0") == ApproveRequest("agent_0", None, Place(), None, 10.0, False)
    assert request("agent_0", "--picture", "q.png").picture == Path("q.png")
    assert request("agent_0", "--yes", "ab-1").answer == (Answer.YES, "ab-1")
    assert request("agent_0", "--no", "ab-1").answer == (Answer.NO, "ab-1")
    assert request("agent_0", "--kind", "ab-1").answer == (Answer.KIND, "ab-1")
    assert request("agent_0", "--at", "1", "-2", "0.5").place == Place(target_m=(1.0, -2.0, 0.5))
    assert request("agent_0", "--pixel", "3", "4").place == Place(pixel=(3, 4))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["/agent_0"], "expected an agent's name"),
        (["agent_é"], "expected an agent's name"),
        (["agent_0", "--yes", ""], "--yes: the id is empty"),
        (["agent_0", "--yes", "ab-1", "--picture", "q.png"], "--picture"),
        (["agent_0", "--at", "nan", "0", "0"], "--at"),
        (["agent_0", "--pixel", "-1", "0"], "--pixel"),
        (["agent_0", "--wait", "inf"], "--wait"),
    ],
)
def test_what_cannot_be_is_named(words: list[str], says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        request(*words)


def test_two_answers_at_once_are_refused() -> None:
    with pytest.raises(SystemExit, match="2"):
        request("agent_0", "--yes", "ab-1", "--no", "ab-1")


def test_the_question_is_shown_with_all_that_decides() -> None:
    assert SHOWN.lines(118.0) == [
        "agent_0 asks: pick",
        "  class  cup",
        "  why    no pick of a cup was approved yet",
        "  target 1.00, 2.00, 0.80 m in the map; pixel 320, 200 of the picture",
        "  left   42 s",
        "  id     ab-1",
    ]


def test_what_is_not_known_is_said() -> None:
    question = replace(SHOWN, thing_class="", pixel=None).lines(None)
    assert "  class  unknown to perception" in question
    assert "  left   unknown" in question
    assert question[3].endswith("not in the picture")
    assert replace(SHOWN, pixel=None, has_picture=False).lines(0.0)[3].endswith("no picture")
    assert not any("class" in line for line in replace(SHOWN, primitive="open", why="").lines(0.0))
    assert replace(SHOWN, thing_class="\x1b[2J").lines(0.0)[1] == "'  class  \\x1b[2J'"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y\n", Answer.YES),
        (" YES \n", Answer.YES),
        ("n\n", Answer.NO),
        ("k\n", Answer.KIND),
        ("\n", None),
        ("", None),
        ("yn\n", None),
        ("ok\n", None),
    ],
)
def test_only_the_keys_are_an_answer(line: str, answer: Answer | None) -> None:
    assert parse_answer(line) is answer
