"""Questions as they are read, whoever answers them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.language.lexicon import Relation
from planner.language.questions import AskedPlace, Question, QuestionSort, asks, read_question

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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("how many beds are there in the house?", "how many beds are there?"),
        ("How many cups are there at home?", "How many cups are there?"),
        ("how many chairs do we have in the whole house?", "how many chairs do we have?"),
        ("how many lamps are there anywhere in the flat?", "how many lamps are there?"),
        ("Tell me how many beds there are in the house", "Tell me how many beds there are"),
        ("is there a lamp in the house?", "is there a lamp?"),
        ("Where are the keys in our house?", "Where are the keys?"),
        ("how many mugs are there in the kitchen altogether?", "how many mugs are in the kitchen?"),
    ],
)
def test_in_the_house_is_anywhere(text: str, plain: str) -> None:
    assert asks(text)
    assert read_question(text) == read_question(plain)


def test_a_room_is_not_the_whole_house() -> None:
    assert read_question("how many beds are there in the bedroom?").place is not None
    assert read_question("what is in the house?").sort is not WHAT


@given(st.text(max_size=80))
def test_any_text_is_some_question(text: str) -> None:
    assert read_question(text).sort in QuestionSort
