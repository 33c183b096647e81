"""Short answers to questions about instructions, and that any answer has a meaning."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import AnswerSort, interpret, read_answer
from planner.language.reading import Ask, AskReason

CUP = "Put the cup on the table."


def which(words: str) -> Ask:
    return Ask(words=(words,), reason=AskReason.WHICH)


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("the one in the kitchen", "{the: cup, in: {the: kitchen}}"),
        ("Kitchen.", "{the: cup, in: {the: kitchen}}"),
        ("the kitchen one", "{the: cup, in: {the: kitchen}}"),
        ("I mean the red one, please", "{the: cup, color: red}"),
        ("red", "{the: cup, color: red}"),
        ("the dirty one next to the sink", "{the: cup, is: dirty, next_to: {the: sink}}"),
        ("on the sofa", "{the: cup, on_top: {the: sofa}}"),
        ("the sofa", "{the: cup, at: {the: sofa}}"),
        ("on the left", "{the: cup, pick: leftmost}"),
        ("the blue mug", "{the: mug, color: blue}"),
        ("any of them", "{a: cup}"),
        ("both", "{all: cup}"),
        ("two of them", "{a: cup, n: 2}"),
    ],
)
def test_things_are_narrowed(text: str, things: str) -> None:
    answer = read_answer(CUP, which("the cup"), text)
    assert answer.things is not None
    assert answer.things.model_dump(
        mode="json", by_alias=True, exclude_defaults=True
    ) == yaml.safe_load(things)
    assert answer.goal == Goal.model_validate(
        [{"move": yaml.safe_load(things), "to": {"on_top": {"the": "table"}}}]
    )


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("any", AnswerSort.ANY),
        ("both", AnswerSort.ALL),
        ("yes", AnswerSort.YES),
        ("no", AnswerSort.NO),
        ("never mind", AnswerSort.NO),
        ("the second one", AnswerSort.OPTION),
        ("Put the plate in the sink.", AnswerSort.INSTRUCTION),
        ("the cup", AnswerSort.UNCLEAR),
        ("zxcv", AnswerSort.UNCLEAR),
        ("", AnswerSort.UNCLEAR),
    ],
)
def test_how_an_answer_decides(text: str, sort: AnswerSort) -> None:
    assert read_answer(CUP, which("the cup"), text).sort is sort


def test_options_are_counted_from_one_and_from_the_end() -> None:
    options = [read_answer(CUP, which("the cup"), text).option for text in ("2", "the latter")]
    assert options == [2, -1]


@pytest.mark.parametrize(
    ("instruction", "answer", "whole"),
    [
        ("Move the lamp.", "to the kitchen", "Move the lamp to the kitchen."),
        ("Move the lamp.", "on the desk", "Put the lamp on the desk."),
        ("Move the lamp.", "kitchen", "Move the lamp to the kitchen."),
        ("Put the cup somewhere nice.", "on the table", CUP),
        ("Put it on the table.", "the cup", CUP),
        ("Give me my favorite cup.", "the blue one", "Give me the blue cup."),
        (
            "Take the cup and the bowl to the kitchen and wash it.",
            "the cup",
            "Take the cup and the bowl to the kitchen and wash the cup.",
        ),
        (
            "Put the apples in the bowl on the counter.",
            "the apples in the bowl",
            "Put the apples that are in the bowl on the counter.",
        ),
        (
            "Put the apples in the bowl on the counter.",
            "the bowl on the counter",
            "Put the apples into the bowl on the counter.",
        ),
        ("The remote, please.", "bring it to me", "Bring me the remote."),
        ("tomato in the fridge", "yes", "Put the tomato in the fridge."),
        ("tomato in the fridge", "slice the tomato", "Slice the tomato."),
        ("Get wine and water glasses.", "wine glasses and water glasses",
         "Get wine glasses and water glasses."),
        ("Move the pen on the tray to the desk.", "the tray", "Move the tray to the desk."),
        ("Move the pen on the tray to the desk.", "the pen that is on the tray",
         "Move the pen that is on the tray to the desk."),
        ("get the plate to the left of the stove", "on the table",
         "Put the plate that is to the left of the stove on the table."),
    ],
)  # fmt: skip
def test_an_answer_completes_the_instruction(instruction: str, answer: str, whole: str) -> None:
    ask = interpret(instruction)
    assert isinstance(ask, Ask)
    goal = read_answer(instruction, ask, answer).goal
    assert goal is not None
    assert same_meaning(goal, interpret(whole)), goal


def test_no_says_that_a_statement_was_one() -> None:
    ask = interpret("tomato in the fridge")
    assert isinstance(ask, Ask)
    answer = read_answer("tomato in the fridge", ask, "no")
    assert (answer.sort, answer.goal) == (AnswerSort.NO, None)


WORDS = "the one in kitchen red cup both no any of them it to on table and , . not where second"


@pytest.mark.slow
@given(st.lists(st.sampled_from(WORDS.split()), max_size=12), st.sampled_from(AskReason))
@settings(max_examples=60, deadline=None)
def test_any_answer_has_a_meaning(words: list[str], reason: AskReason) -> None:
    ask = Ask(words=("the cup",), reason=reason)
    answer = read_answer(CUP, ask, " ".join(words))
    assert (answer.sort is AnswerSort.PLACES) == bool(answer.places)
