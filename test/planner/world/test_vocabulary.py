"""What each hand holds, as plain tuples."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.world.vocabulary import (
    Hand,
    first_held,
    free_hand,
    hand_holding,
    hand_states,
    hand_words,
    held_things,
    held_words,
    holding_hand_words,
    thing_in,
    with_thing,
)
from planner.world.wire import hands_record

CUP, JUG = "cup_0", "jug_0"


def test_the_right_hand_comes_first() -> None:
    assert held_things((CUP, JUG)) == (CUP, JUG)
    assert first_held((None, JUG)) == JUG
    assert (free_hand((None, None)), free_hand((CUP, None))) == (Hand.RIGHT, Hand.LEFT)
    assert (free_hand((CUP, JUG)), free_hand(()), first_held(())) == (None, None, None)
    assert (hand_holding((CUP, JUG), JUG), hand_holding((CUP,), JUG)) == (Hand.LEFT, None)
    assert (thing_in((CUP,), Hand.RIGHT), thing_in((CUP,), Hand.LEFT)) == (CUP, None)


@given(
    st.tuples(st.sampled_from([None, CUP]), st.sampled_from([None, JUG])),
    st.sampled_from(list(Hand)),
)
def test_taking_and_putting_down_leaves_the_other_hand_alone(
    hands: tuple[str | None, str | None], hand: Hand
) -> None:
    other = next(item for item in Hand if item is not hand)
    taken = with_thing(hands, hand, "pear_0")
    assert thing_in(taken, hand) == "pear_0"
    assert thing_in(taken, other) == thing_in(hands, other)
    assert thing_in(with_thing(taken, hand, None), hand) is None


def test_a_hand_that_was_not_known_of_was_empty() -> None:
    assert with_thing((), Hand.LEFT, CUP) == (None, CUP)


def test_only_one_of_two_is_named() -> None:
    assert hand_words(Hand.RIGHT, 1) == "the hand"
    assert hand_words(Hand.LEFT, 2) == "the left hand"
    assert holding_hand_words((None, CUP), CUP) == "the left hand"
    assert (holding_hand_words((CUP,), CUP), holding_hand_words((JUG, None), CUP)) == ("", "")
    assert held_words((CUP, JUG)) == "cup_0 in the right hand and jug_0 in the left hand"
    assert (held_words((CUP,)), held_words((None, None)), held_words(())) == (CUP, "", "")


def test_every_hand_has_a_state() -> None:
    assert hand_states((None, JUG)) == "right hand: empty, left hand: jug_0"
    assert (hand_states((CUP,)), hand_states((None,)), hand_states(())) == (
        "hand: cup_0",
        "hand: empty",
        "",
    )


@pytest.mark.parametrize(
    ("fields", "hands"),
    [
        ({"holding": CUP, "hands": ["", CUP]}, (None, CUP)),
        ({"holding": "", "hands": [""]}, (None,)),
        ({"holding": CUP}, (CUP,)),
        ({"holding": ""}, ()),
    ],
)
def test_older_messages_have_one_hand(
    fields: dict[str, object], hands: tuple[str | None, ...]
) -> None:
    assert hands_record(SimpleNamespace(**fields)) == hands
