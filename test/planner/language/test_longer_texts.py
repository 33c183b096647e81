"""What sentences say together: announcements, rooms named before, lists in turn."""

from __future__ import annotations

import pytest
import yaml

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret

TOGETHER = [
    (
        "Help me set up a play area in the bedroom. Put the ball on the table.",
        "Put the ball on the table in the bedroom.",
    ),
    (
        "Help me organize the office by placing the lamp on the shelf.",
        "Put the lamp on the shelf in the office.",
    ),
    (
        "Help me move these objects. The cup should be in the sink.",
        "Put the cup in the sink.",
    ),
    (
        "Bring the cups to the kitchen and put them on the table.",
        "Put the cups on the table in the kitchen.",
    ),
    (
        "Move the cup, then the plate, and finally the fork to the kitchen.",
        ("Move the cup to the kitchen. Then move the plate to the kitchen. "
        "Then move the fork to the kitchen."),
    ),
    (
        "Put the cups on the shelf, placing them next to each other.",
        "Put the cups next to each other on the shelf.",
    ),
    ("Take the vase and sponge from the sink to the table.",
     "Take the vase and the sponge from the sink to the table."),
    ("Move the vase from its current location to the kitchen.", "Move the vase to the kitchen."),
    ("Move the lamp next to the bed.", "Put the lamp next to the bed."),
    (
        "Put the lamp next to the spoon, fork and knife on the table.",
        ("Put the lamp next to the spoon on the table, next to the fork on the table, next to the"
        " knife on the table."),
    ),
    (
        ("Move some toys to the bed. Move the toy bee, then the toy animal, and finally the toy"
        " food."),
        "Move the toy bee, then the toy animal, and finally the toy food to the bed.",
    ),
    (
        "Move the cup to the same table, but a different one than where it started.",
        "Move the cup to another table.",
    ),
    ("Clean the shelves. Put the cup on them.", "Clean all shelves. Put the cup on all shelves."),
    (
        "Move the kettle from the table to the bed and fill it. Put the cup next to the kettle.",
        "Move the kettle from the table to the bed. Fill it. Put the cup next to the kettle.",
    ),
    (
        "Put the cup and the plate on the table, with the cup next to the plate.",
        "Put the cup and the plate on the table, and the cup next to the plate.",
    ),
    (
        "Help me exchange these objects. Put the cup on the bed and the book on the shelf.",
        "Put the cup on the bed and the book on the shelf.",
    ),
    (
        "Help me set up a play area in the living room. Put the ball next to the bed.",
        "Put the ball next to the bed.",
    ),
    (
        "Put the cup next to the bed in the living room with the cushions.",
        "Put the cup next to the bed in the living room that has the cushions.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "plainly"), TOGETHER)
def test_it_means_what_it_says_in_plain_words(said: str, plainly: str) -> None:
    first, second = interpret(said), interpret(plainly)
    assert isinstance(first, Goal), first
    assert isinstance(second, Goal), second
    assert same_meaning(first, second), (first, second)


WRITTEN = [
    (
        "Put the fork next to the plate, and the spoon close by.",
        (
            "[{move: {the: fork}, to: {next_to: {the: plate}}},"
            " {move: {the: spoon}, to: {next_to: {one_of: [{the: fork}, {the: plate}]}}}]"
        ),
    ),
    (
        "Put the books on the shelf. After all this, put the cup nearby.",
        (
            "[{move: {all: book}, to: {on_top: {the: shelf}}}, then,"
            " {move: {the: cup}, to: {next_to: {one_of: [{all: book}, {all: book}]}}}]"
        ),
    ),
    (
        "Move the vase from the kitchen table to the other kitchen table.",
        (
            "[{move: {the: vase, at: {the: table, in: {the: kitchen}}},"
            " to: {at: {the: table, elsewhere: true, in: {the: kitchen}}}}]"
        ),
    ),
    (
        "Leave the lamp on the desk. Put the pen in the cup.",
        (
            "[{move: {the: pen}, to: {in: {the: cup}}},"
            " any_time, {leave: {the: lamp, on_top: {the: desk}}}]"
        ),
    ),
    (
        "Put the cup on the table with the vase.",
        "[{move: {the: cup}, to: {on_top: {the: table, with: {the: vase}}}}]",
    ),
    (
        "Put the electric kettle and kettle on the stove.",
        "[{move: [{the: electric kettle}, {the: kettle}], to: {on_top: {the: stove}}}]",
    ),
]


@pytest.mark.parametrize(("text", "goal"), WRITTEN)
def test_the_goal(text: str, goal: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal), found
    assert same_meaning(found, Goal.model_validate(yaml.safe_load(goal))), found


def test_an_announcement_alone_is_not_carried_out() -> None:
    assert not isinstance(interpret("Help me set up a play area in the bedroom."), Goal)
