"""What the reader would have to guess is asked about or refused, never done."""

from __future__ import annotations

import pytest

from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, NotUnderstood


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Put two cups on the table and the remaining cups in the cabinet.", "remaining"),
        ("Put the cups in the sink twice.", "twice"),
        ("Leave the lamp on until I come back.", "until"),
    ],
)
def test_a_word_without_a_trace_in_the_goal_is_named(text: str, words: str) -> None:
    assert interpret(text) == NotUnderstood(words=(words,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The laptop on the desk, the mouse next to it, the cup behind it.", "it"),
        ("Put every book on a shelf.", "on a shelf"),
        ("Bring a towel for my mother.", "Bring a towel for my mother"),
        ("Put two cups on three tables.", "on three tables"),
        ("Put three plates and cups on the table.", "three plates and cups"),
        ("Put the clean plates and cups in the cabinet.", "the clean plates and cups"),
        (
            "Take the cups from the table and the sink to the kitchen.",
            "from the table and the sink",
        ),
        (
            "Get the suitcase down from the wardrobe and put the shirts in it.",
            "Get the suitcase down from the wardrobe",
        ),
    ],
)
def test_what_has_two_meanings_is_asked_about(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, Ask), found
    assert found.words == (words,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Bring me both the cup and the plate.", "Bring me the cup and the plate."),
        ("Wash every plate and cup.", "Wash all plates and all cups."),
        (
            "I'll bring the knives to the table and you bring the forks.",
            "I'll bring the knives to the table and you bring the forks to the table.",
        ),
        ("Go to the bedroom and get my slippers.", "Get my slippers that are in the bedroom."),
        (
            "Put the spoon to the left of the plate, not the cup.",
            "Put the spoon left of the plate.",
        ),
        ("Bring the plates to the dishwasher.", "Bring the plates into the dishwasher."),
    ],
)
def test_both_mean_the_same(text: str, plain: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal), found
    assert found == interpret(plain)


def test_each_has_one_of_its_own() -> None:
    found = interpret("Put each cup on a saucer.")
    assert isinstance(found, Goal)
    assert found.model_dump(mode="json", by_alias=True, exclude_defaults=True) == [
        {"move": {"all": "cup"}, "to": {"on_top": {"a": "saucer", "each": True}}}
    ]
