"""Which of several drawers, shelves or cabinets is meant by its position or its name."""

from __future__ import annotations

import pytest
import yaml

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask

READ = {
    "Put the pen in the top drawer.": "{move: {the: pen}, to: {in: {the: drawer, pick: highest}}}",
    "Open the bottom drawer of the dresser.": (
        "{make: {the: drawer, pick: lowest, at: {the: dresser}}, be: open}"
    ),
    "Put the book on the second shelf.": (
        "{move: {the: book}, to: {on_top: {the: shelf, pick: lowest, nth: 2}}}"
    ),
    "Close the second drawer from the top.": (
        "{make: {the: drawer, pick: highest, nth: 2}, be: closed}"
    ),
    "Put the lime on the lower shelf of the fridge.": (
        "{move: {the: lime}, to: {on_top: {the: shelf, pick: lowest, at: {the: fridge}}}}"
    ),
    "Put the lime on the bottom shelf in the fridge.": (
        "{move: {the: lime}, to: {on_top: {the: shelf, pick: lowest, in: {the: fridge}}}}"
    ),
    "Put the plates in the upper kitchen cabinet.": (
        "{move: {all: plate}, to: {in: {the: cabinet, pick: highest, in: {the: kitchen}}}}"
    ),
    "Close the lower cabinets.": "{make: {all: cabinet, pick: lowest}, be: closed}",
    "Take the socks from the middle drawer to the bed.": (
        "{move: {all: sock, at: {the: drawer, pick: middle}}, to: {at: {the: bed}}}"
    ),
    "Open the left drawer.": "{make: {the: drawer, pick: leftmost}, be: open}",
    "Bring me the third book from the left.": (
        "{move: {the: book, pick: leftmost, nth: 3}, to: me}"
    ),
    "Open the drawer of the dresser.": "{make: {the: drawer, at: {the: dresser}}, be: open}",
    "Bring me the second cup.": None,
    "Put the pen on the top plate.": None,
    "Bring me the third book from the top.": None,
}


@pytest.mark.parametrize("text", READ)
def test_a_part_of_furniture_is_told_by_its_position(text: str) -> None:
    found, meant = interpret(text), READ[text]
    if meant is None:
        assert not isinstance(found, Goal)
    else:
        assert isinstance(found, Goal)
        assert same_meaning(found, Goal.model_validate([yaml.safe_load(meant)])), found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Put the book on the first shelf.", "the first shelf"),
        ("Put the pen in the top left drawer.", "top left drawer"),
    ],
)
def test_what_is_the_first_or_has_two_positions_is_asked(text: str, words: str) -> None:
    assert interpret(text) == Ask.model_validate({"ask": words, "reason": "which"})


def test_positions_differ() -> None:
    one, other = (
        Goal.model_validate([{"find": {"the": "shelf", "pick": "lowest", "nth": nth}}])
        for nth in (2, 3)
    )
    assert not same_meaning(one, other)
    assert one.model_dump(mode="json", by_alias=True, exclude_defaults=True) == [
        {"find": {"the": "shelf", "pick": "lowest", "nth": 2}}
    ]


@pytest.mark.parametrize("described", [{"the": "shelf", "nth": 2}, {"the": "shelf", "nth": 1}])
def test_a_rank_is_of_an_order_and_no_first_one(described: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="nth"):
        Goal.model_validate([{"find": described}])


@pytest.mark.parametrize("kind", ["laundry hamper", "lounge chair", "kitchen bench"])
def test_a_name_of_its_own_is_no_piece_of_that_room(kind: str) -> None:
    found = interpret(f"Put the shirt on the {kind}.")
    meant = [{"move": {"the": "shirt"}, "to": {"on_top": {"the": kind}}}]
    assert isinstance(found, Goal)
    assert same_meaning(found, Goal.model_validate(meant)), found
