"""PARTNR's wording: slips that are mended, and states that are to be reached."""

from __future__ import annotations

from typing import Any

import pytest
from partnr_house import able, facts, goal, scene_with

from papers.partnr.episodes.goals import derive, plain


@pytest.mark.parametrize(
    "words", ["Move the cup to to the closet.", "Move the cup to the closet Place the hat there."]
)
def test_slips_of_the_pen_are_mended(words: str) -> None:
    found = goal(words, cup_0="bed_0", hat_0="bed_0")
    assert facts(found)[0][1:] == (["cup_0"], ["closet_0"])


@pytest.mark.parametrize(
    ("words", "plainly"),
    [
        ("Movee the cup to the closet.", "move the cup to the closet."),
        ("Move the bwl to the closet.", "Move the bowl to the closet."),
        ("Move the cup toy bee to the closet.", "Move the cup, toy bee to the closet."),
        ("What a day! Move the cup to the closet.", "Move the cup to the closet."),
        ("Move the cup to the closet. They were not used.", "Move the cup to the closet."),
        ("Move the cup to the closet while the tea brews.", "Move the cup to the closet."),
        ("Move the cup for hot tea to the closet.", "Move the cup for hot tea to the closet."),
        (
            "Help me move some toys to the closet.  First, take the cup to the bed.",
            "take the cup to the bed.",
        ),
        ("Tidy the room by putting the cup on the bed.", "Tidy the room. Put the cup on the bed."),
        ("First, move the cup to the closet.", "move the cup to the closet."),
        (
            "First, move the cup to the closet. Then, wait.",
            "First, move the cup to the closet. Then, wait.",
        ),
        ("Put the cup on the white table.", "Put the cup on the table."),
        ("Place it by the bowl.", "Place it next to the bowl."),
        (
            "Bring me the cup from the bed to the closet.",
            "bring the cup from the bed to the closet.",
        ),
        ("Put a piece of bread in the chest.", "Put a bread in the chest of drawers."),
        ("Put the cup in the toy chest.", "Put the cup in the toy chest."),
    ],
)
def test_the_wording_is_made_plain(words: str, plainly: str) -> None:
    scene = scene_with(cup_0="bed_0", bowl_0="bed_0", toy_bee_0="bed_0")
    assert plain(words, scene, reworded=True).strip() == plainly


@pytest.mark.parametrize(
    ("words", "same_as"),
    [
        (
            (
                "Set the table for people in the dining room with cups, bowls, and hats at each "
                "setting. Then, move all the table settings to the counter in the kitchen."
            ),
            (
                "Place cups, bowls, and hats on the table in the dining room. "
                "Then, move them to the counter in the kitchen."
            ),
        ),
        (
            "Place a cup next to a bowl, a hat next to a vase on the table.",
            "Place a cup next to a bowl on the table. Place a hat next to a vase on the table.",
        ),
        (
            "Place the cup and the bowl on the table next to each other. Include the hat.",
            "Place the cup, the bowl, and the hat on the table next to each other.",
        ),
    ],
)
def test_another_wording_has_the_same_goal(words: str, same_as: str) -> None:
    things = {"cup_0": "bed_0", "bowl_0": "bed_0", "hat_0": "bed_1", "vase_0": "bed_1"}
    found = goal(words, **things)
    assert all(name in str(facts(found)) for name in ("cup_0", "bowl_0", "hat_0"))
    assert found == goal(same_as, **things)


def test_it_may_stand_for_several() -> None:
    found = goal(
        "Bring the cups to the kitchen and place it on the counter.", cup_0="bed_0", cup_1="bed_0"
    )
    assert [f[1] for f in facts(found)] == [["cup_0"], ["cup_1"]]


def test_a_room_before_the_furniture_in_it_belongs_to_that() -> None:
    found = goal("Place the cup in the dining room on the table.", cup_0="bed_0")
    assert facts(found) == [("is_on_top", ["cup_0"], ["table_3"])]


def test_a_filled_glass_is_to_be_filled() -> None:
    scene = able(scene_with(glass_0="counter_0"), glass_0="fillable")
    found: Any = derive("Bring a filled glass from the kitchen to the closet.", scene).evaluation
    assert [f[:2] for f in facts(found)] == [
        ("is_in_room", ["glass_0"]), ("is_filled", ["glass_0"]),
    ]  # fmt: skip


def test_the_table_to_be_cleaned_is_the_one_from_which_things_were_taken() -> None:
    scene = able(
        scene_with(plate_0="table_1"), table_0="cleanable", table_1="cleanable", table_2="cleanable"
    )
    words = "Move the plate from the living room table to the kitchen and I'll clean the table."
    found: Any = derive(words, scene).evaluation
    assert facts(found)[1][:2] == ("is_clean", ["table_1"])
