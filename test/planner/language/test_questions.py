"""Questions as they are read, whoever answers them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.language.lexicon import Relation
from planner.language.questions import AskedPlace, Question, QuestionSort, read_question

WHERE, WHAT, HOW_MANY, CHANGED, *_ = QuestionSort

READ = [
    ("Where is the red cup?", Question(WHERE, ("red", "cup"), "cup")),
    ("Hey robot, do you know where my cup is?", Question(WHERE, ("cup",), "cup")),
    ("red bottle", Question(WHERE, ("red", "bottle"), "bottle")),
    ("where is table_3", Question(WHERE, ("table", "3"))),
    ("Is there a hippopotamus?", Question(WHERE, ("hippopotamus",))),
    ("", Question(WHERE)),
    (
        "What is on the coffee table in the living room?",
        Question(
            WHAT, place=AskedPlace(Relation.ON_TOP, "coffee table", "coffee table", "living room")
        ),
    ),
    ("what is held by agent_0", Question(WHAT, place=AskedPlace(None, "agent_0"))),
    ("list things in hall_0", Question(WHAT, place=AskedPlace(Relation.IN, "hall_0"))),
    (
        "How many clean plates are in the kitchen?",
        Question(
            HOW_MANY, ("clean", "plate"), "plate", AskedPlace(Relation.IN, "kitchen", "kitchen")
        ),
    ),
    ("what changed since 120 s?", Question(CHANGED, since_s=120.0)),
    ("What has changed in the last two minutes?", Question(CHANGED, last_s=120.0)),
    ("what happened in the last hour", Question(CHANGED, last_s=3600.0)),
    ("what is new?", Question(CHANGED)),
]


@pytest.mark.parametrize(("text", "question"), READ)
def test_a_question_is_read(text: str, question: Question) -> None:
    assert read_question(text) == question


@given(st.text(max_size=80))
def test_any_text_is_some_question(text: str) -> None:
    assert read_question(text).sort in QuestionSort
