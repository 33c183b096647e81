"""Other words for the same: built from parts, both texts must mean the same or be asked about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import cases

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret

THINGS = st.sampled_from([
    "the red cup", "two plates", "all books", "a clean bowl", "the toys on the bed",
    "my keys", "the bottle that is on the desk", "both lamps", "some apples",
])  # fmt: skip
PLACES = st.sampled_from([
    "on the table", "in the sink", "next to the laptop", "into the box in the office",
    "under the chair", "onto the shelf in the hall",
])  # fmt: skip
INDIRECT = st.sampled_from([
    "Could you put {}?", "Please put {}.", "I would like you to put {}.", "You should put {}.",
    "Would you mind putting {}?", "I was wondering if you could put {}.", "Don't forget to put {}.",
    "Hey robot, put {}, please.", "It would be great if you could put {}.", "put {}",
])  # fmt: skip


def same(one: str, other: str) -> bool:
    return same_meaning(interpret(one), interpret(other))


@given(THINGS, PLACES, INDIRECT)
@settings(max_examples=60, deadline=None)
def test_politeness_changes_nothing(thing: str, place: str, form: str) -> None:
    plain = interpret(f"Put {thing} {place}.")
    assert isinstance(plain, Goal)
    assert same_meaning(interpret(form.format(f"{thing} {place}")), plain)


@pytest.mark.slow
@given(THINGS, PLACES, THINGS, PLACES)
@settings(max_examples=60, deadline=None)
def test_two_sentences_mean_what_one_does(one: str, here: str, two: str, there: str) -> None:
    joined = interpret(f"Put {one} {here} and put {two} {there}.")
    assert same_meaning(joined, interpret(f"Put {one} {here}. Put {two} {there}."))
    ordered = interpret(f"Put {one} {here}, then put {two} {there}.")
    assert same_meaning(
        ordered, interpret(f"First put {one} {here}. After that put {two} {there}.")
    )


@pytest.mark.parametrize("room", ["kitchen", "hall", "living room"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Wash every cup in the {}.", "Wash all the cups in the {}."),
        ("Take the cup to the {}.", "The cup should be taken to the {}."),
        ("Put the cups in the {}.", "The cups go in the {}."),
        ("Put the cup and the plate in the {}.", "Put the cup in the {} and the plate too."),
        ("Switch off the lamps in the {}.", "Turn the lamps in the {} off."),
        ("Switch off the lamps in the {}.", "The lamps in the {} should be off."),
        ("Before you wipe the table, take the cup to the {}.",
         "Take the cup to the {} and then wipe the table."),
        ("After taking the cup to the {}, wipe the table.",
         "Take the cup to the {} before wiping the table."),
        ("Take the cup that is in the {} to the office.", "Take the cup in the {} to the office."),
        ("If the cup is in the {}, wash it.", "Wash the cup if it is in the {}."),
    ],
)  # fmt: skip
def test_other_ways_to_say_it(one: str, other: str, room: str) -> None:
    found = interpret(one.format(room))
    assert isinstance(found, Goal)
    assert same(one.format(room), other.format(room)), interpret(other.format(room))


WORDS = (
    "my the i we cup desk kitchen on in is are was dirty needs it left and , wash there here that "
    "put one ones other to"
)
REMARKS = st.lists(st.sampled_from(WORDS.split()), max_size=14)


@given(REMARKS, REMARKS)
@settings(max_examples=cases(150), deadline=None)
def test_remarks_have_an_outcome(first: list[str], second: list[str]) -> None:
    text = f"{' '.join(first)}. {' '.join(second)}"
    assert same_meaning(interpret(text), interpret(text))
