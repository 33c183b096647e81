"""From a text, and answers about it, to a goal, a question, or the reason why nothing is done."""

from __future__ import annotations

import pytest

from planner.language.interpretation import interpret
from planner.planning.planner import Exchange
from planner.planning.words.understanding import Ended, Unclear, Understood, understand
from planner.world.instruct import InstructionCode


def settled(text: str, answer: str | None) -> object:
    """What an instruction means once its question is answered."""
    asked = understand(text, ())
    assert isinstance(asked, Unclear)
    return understand(text, [Exchange(asked.question, answer)])


@pytest.mark.parametrize(
    ("text", "answer", "whole"),
    [
        ("Put it on the table.", "the red cup", "Put the red cup on the table."),
        ("The mug has to be moved.", "the kitchen", "Move the mug to the kitchen."),
        (
            "The mug has to be moved.",
            "to the kitchen table.",
            "The mug has to be moved to the kitchen table.",
        ),
        ("Give me my favourite mug.", "the blue one", "Give me the blue mug."),
        ("The usual, please.", "Wash the plates", "Wash the plates."),
    ],
)
def test_an_answer_completes_the_instruction(text: str, answer: str, whole: str) -> None:
    assert settled(text, answer) == understand(whole, ())


def test_one_answer_may_lead_to_the_next_question() -> None:
    text = "Put the things somewhere better."
    found = settled(text, "in the wardrobe")
    assert found == Unclear('What is meant by "the things"?')
    answers = [
        Exchange('Where should it go: "somewhere better"?', "in the wardrobe"),
        Exchange('What is meant by "the things"?', "the shirts"),
    ]
    last = understand(text, answers)
    assert last == understand("Put the shirts in the wardrobe.", ())


@pytest.mark.parametrize("answer", [None, "qwertz uiop"])
def test_without_an_answer_only_what_is_clear_is_understood(answer: str | None) -> None:
    found = settled("Put the cup in the sink. The mug has to be moved.", answer)
    assert isinstance(found, Understood)
    assert found.goal == interpret("Put the cup in the sink.")
    assert found.left_out == ("The mug has to be moved.",)


@pytest.mark.parametrize(
    "text", ["The mug has to be moved.", "Put the cup in the sink. Don't put it there."]
)
def test_without_an_answer_nothing_is_done_that_might_be_wrong(text: str) -> None:
    asked = understand(text, ())
    if isinstance(asked, Unclear):
        end = understand(text, [Exchange(asked.question, None)])
        assert isinstance(end, Ended)
        assert end.code is InstructionCode.QUESTION
        assert end.question == asked.question
    else:
        assert isinstance(asked, Ended)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", InstructionCode.BAD_REQUEST, "empty"),
        ("Bring bitte die Tasse in die Küche.", InstructionCode.NO_GOAL, "English"),
        ("Pick[cup_0]; DROP TABLE memory;", InstructionCode.NO_GOAL, "program"),
        ("Turn the lamp on and keep it off.", InstructionCode.BAD_REQUEST, "contradicts"),
        ("Bring me minus three apples.", InstructionCode.BAD_REQUEST, '"minus three"'),
        ("Slice the lamp.", InstructionCode.BAD_REQUEST, "not possible"),
        ("Put the vlask on the table.", InstructionCode.NO_GOAL, '"flask" for "vlask"'),
        ("Put the books that are on the shelf on the shelf.", InstructionCode.DONE, "already"),
    ],
)
def test_what_cannot_be_done_ends_with_one_sentence(
    text: str, code: InstructionCode, says: str
) -> None:
    found = understand(text, ())
    assert isinstance(found, Ended)
    assert found.code is code
    assert says in found.text
    assert "\n" not in found.text
