"""Wordings of people who never saw the rules, by category; the sentences are our own."""

from __future__ import annotations

import pytest

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask

# What was once read as something else.
ASKED = [
    ("Pick up the lemon inside the bowl next to the fork.", "where"),
    ("Bring a spoon on the desk.", "where"),
    (
        "Take the hat and the scarf to the closet. Then take the pen to the office. "
        "Then take the lamp to the office. Finally, bring them both to the hall.",
        "what",
    ),
    (
        "Take the hats to the closet. Then take the pen to the office. "
        "Then take the lamp to the bedroom. Finally, bring them to the hall.",
        "what",
    ),
]


@pytest.mark.parametrize(("text", "reason"), ASKED)
def test_what_has_two_readings_is_asked(text: str, reason: str) -> None:
    found = interpret(text)
    assert isinstance(found, Ask), found
    assert found.reason == reason


SAME = [
    # The robot is spoken to at the end
    ("Bring the pen and the book to the office, robot.", "Bring the pen and the book to the office"),
    # A full stop is missing
    (
        "Open the oven put the pie in the oven, close the oven",
        "Open the oven. Put the pie in the oven. Close the oven.",
    ),
    # "These items" came there just before
    (
        "Take the hat to the hall. Next, take the pen to the hall. "
        "Lastly, take all these items from the hall to the office.",
        "Take the hat to the hall. Next, take the pen to the hall. "
        "Lastly, take the hat and the pen to the office.",
    ),
]


@pytest.mark.parametrize(("text", "plain"), SAME)
def test_both_mean_the_same(text: str, plain: str) -> None:
    found, wanted = interpret(text), interpret(plain)
    assert isinstance(found, Goal), found
    assert isinstance(wanted, Goal), wanted
    assert same_meaning(found, wanted), (found, wanted)


@pytest.mark.parametrize("text", ["Play on the laptop.", "Read on the sofa."])
def test_what_people_do_themselves_is_no_thing_to_move(text: str) -> None:
    assert not isinstance(interpret(text), Goal)
