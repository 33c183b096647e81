"""Answers that are typed on the terminal of a demo."""

from __future__ import annotations

import os
import queue
from io import StringIO

import pytest

from planner.demo_answers import PROMPT, TypedAnswers
from planner.narrator.story import question_line

WAIT_S = 10.0
WHICH = question_line(4.0, "Which sink: the one in the kitchen or the one in the bathroom?")


class Terminal:
    """A pipe in place of a terminal, what is shown on it, and what was sent."""

    def __init__(self, given: int = 0) -> None:
        read, self._keys = os.pipe()
        self.screen = StringIO()
        self.sent: queue.Queue[str] = queue.Queue()
        self.answers = TypedAnswers(os.fdopen(read), self.screen, given, self.sent.put)

    def type(self, text: str) -> None:
        os.write(self._keys, text.encode())


def test_a_typed_line_answers_the_question() -> None:
    terminal = Terminal()
    terminal.answers.take("narrator", WHICH)
    assert terminal.screen.getvalue() == f"{PROMPT}\n"
    terminal.type("the kitchen one\n")
    assert terminal.sent.get(timeout=WAIT_S) == "the kitchen one"
    terminal.answers.take("narrator", question_line(9.0, "Which table?"))
    terminal.type("\nthe round one\n")
    assert terminal.sent.get(timeout=WAIT_S) == "the round one"


def test_what_was_answered_beforehand_is_not_asked_for() -> None:
    terminal = Terminal(given=1)
    terminal.answers.take("narrator", WHICH)
    assert not terminal.screen.getvalue()
    terminal.answers.take("narrator", WHICH)
    terminal.type("both\n")
    assert terminal.sent.get(timeout=WAIT_S) == "both"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("narrator", "00:04  plan:    question: Which sink?"),
        ("task_planner", WHICH),
        ("narrator", "00:05  agent_0  did     Pick[cup_0]"),
    ],
)
def test_other_lines_ask_nothing(name: str, text: str) -> None:
    terminal = Terminal()
    terminal.answers.take(name, text)
    assert not terminal.screen.getvalue()
