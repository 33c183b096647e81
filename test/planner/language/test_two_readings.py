"""Where a sentence has two readings with different goals it is asked, and small words are heard."""

from __future__ import annotations

import pytest

from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, Impossible, ImpossibleReason, NotUnderstood


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # What a place or pronoun belongs to
        ("Put the mug between the laptop and the lamp on the desk.", "on the desk"),
        ("Put the lamp to the left of the couch behind the table.", "to the left of the couch"),
        ("Place the ball under the table and the doll on it.", "it"),
        ("Take the apples to the kitchen in the basket.", "in the basket"),
        (
            "The cushions from the armchair and the couch should be on the bed.",
            "from the armchair and the couch",
        ),
        (
            "Put the green cup on the left shelf and the white one on the right.",
            "the white one on the right",
        ),
        ("Put the pears in the bowl. The lemons on the table too.", "The lemons on the table"),
        ("Put the cup on the left side of the table.", "on the left side of the table"),
        ("Hang the picture over the couch.", "over the couch"),
        ("Put the cup in the box in the closet in the bedroom.", "in the box in the closet"),
        # Which ones, and how many
        ("Turn on any lamp in the kitchen.", "any lamp"),
        ("Put the fruit in the bowl, but not the banana, it goes in the bin.", "it"),
        ("Put the hamper by the washing machine and the detergent on top of it.", "it"),
        ("Bring the cup and the plate, the cup to the kitchen.", "the cup"),
        ("Leave the keys on the desk.", "Leave the keys on the desk"),
        # Where to
        ("You bring the chairs and I'll bring the table.", "bring the table"),
        (
            "I'll set the table. You bring the plates from the kitchen.",
            "You bring the plates from the kitchen",
        ),
        ("Don't leave the cups in the sink.", "leave the cups in the sink"),
        (
            "Go to the kitchen, take the cup from the sink and put it in the dishwasher.",
            "Go to the kitchen, take the cup from the sink",
        ),
    ],
)
def test_two_readings_are_asked_about(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, Ask), found
    assert found.words == (words,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Bring the suitcases up.", "up"),
        ("You wash the dishes and I dry them.", "I"),
        ("Put all the cups but only one plate on the table.", "but only one plate"),
        ("Put the pan in the sink if it is dirty, otherwise in the cabinet.", "otherwise"),
        ("Load the washing machine and start it.", "Load"),
        ("Turn off the light and leave the bedroom.", "leave"),
        ("There are cups on the table. Bring the plates to the kitchen.", "There are cups"),
        ("As well as the cups, bring me the plates.", "as"),
        ("Put the old books in the box and the new ones on the shelf.", "old"),
        ("Bring the rest of the cups to the kitchen.", "rest"),
        ("Put the vase in the middle of the table and the candles around it.", "around"),
        ("Have the speaker on the shelf and the radio off.", "Have"),
        ("Close the fridge last. First bring me the yogurt from it.", "First"),
        ("Unload the dishwasher: plates in the cabinet, cups on the shelf.", "Unload"),
        ("Take the tray to the kitchen with everything on it.", "with"),
    ],
)
def test_what_would_be_dropped_is_named(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, NotUnderstood), found
    assert found.words[0].startswith(words)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Shut the laptop down.", "Turn the laptop off."),
        ("Turn off any lamp that is on.", "Turn off all lamps that are on."),
        (
            "Take the plates to the kitchen. The ones on the desk too.",
            "Take the plates to the kitchen and the plates that are on the desk to the kitchen.",
        ),
        (
            "Take the plates out of the dishwasher and the cups too.",
            "Take the plates out of the dishwasher and the cups out of the dishwasher.",
        ),
        (
            "All the books but the one on the bed go on the shelf.",
            "Put all the books except the book that is on the bed on the shelf.",
        ),
        (
            "Put the clock and the vase on the shelf, the clock to the left of the vase.",
            "Put the clock and the vase on the shelf. Put the clock to the left of the vase.",
        ),
        ("Go to the hall and turn on the lamp.", "Turn on the lamp that is in the hall."),
        (
            "Take the plant from the table in the hall to the one in the kitchen.",
            "Take the plant from the table in the hall to the table in the kitchen.",
        ),
        ("Wash the cups, they are dirty.", "Wash the cups."),
        ("There's juice on the rug, wipe it up.", "Wipe the rug."),
        ("Bring me the smaller of the two suitcases.", "Bring me the smallest suitcase."),
        ("Shut the wardrobe doors.", "Shut the wardrobe."),
        (
            "Take the cup to the kitchen and wash the cup there.",
            "Take the cup to the kitchen, then wash the cup.",
        ),
        (
            "Put the smaller plates in the cabinet and the bigger ones on the shelf.",
            "Put the small plates in the cabinet and the big plates on the shelf.",
        ),
        (
            "Put the keys in my bag and hang it in the closet.",
            "Put the keys in my bag and hang the bag in the closet.",
        ),
        ("Take my book to bed.", "Take my book to the bed."),
        ("Get me a spoon, the small one.", "Get me the small spoon."),
        (
            "Put a fork left of the plate, a knife right of it, a cup behind it.",
            "Put a fork left of the plate, a knife right of the plate, a cup behind the plate.",
        ),
        (
            "There are toys all over the hall. Take them to the office.",
            "Take the toys that are in the hall to the office.",
        ),
        ("Put the cup on the table and leave it there.", "Put the cup on the table."),
        ("Turn off whatever is on in the hall.", "Turn off everything that is on in the hall."),
        ("Push the box under the bed.", "Put the box under the bed."),
        ("Boil me an egg, the kids are starving.", "Boil an egg."),
        ("Get me a cup, I want to drink.", "Get me a cup."),
        ("Make tea for my mother and me.", "Make tea for two."),
        ("The living room is a mess, tidy it up.", "Tidy up the living room."),
    ],
)
def test_both_mean_the_same(text: str, plain: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal), found
    assert found == interpret(plain)


def test_what_is_named_by_a_request_of_its_own_is_left_out_of_the_others() -> None:
    found = interpret("Turn off all lamps, and turn on the lamp on the desk.")
    assert isinstance(found, Goal)
    assert found.model_dump(mode="json", by_alias=True, exclude_defaults=True)[0] == {
        "make": {"all": "lamp", "except": {"the": "lamp", "on_top": {"the": "desk"}}},
        "be": "powered off",
    }


def test_opposite_states_at_once_are_a_contradiction() -> None:
    found = interpret("I want the lamp to be both on and off.")
    assert isinstance(found, Impossible)
    assert found.reason is ImpossibleReason.CONTRADICTION


@pytest.mark.parametrize(
    "text",
    [
        "Put the cup on the table but not on the table.",
        "Keep the fridge open and close it.",
    ],
)
def test_what_excludes_itself_is_a_contradiction(text: str) -> None:
    found = interpret(text)
    assert isinstance(found, Impossible), found
    assert found.reason is ImpossibleReason.CONTRADICTION


def test_only_one_of_two_exclusive_conditions_holds_so_neither_is_first() -> None:
    found = interpret("If the plates are clean put them away, if they are dirty wash them.")
    assert isinstance(found, Goal)
    assert len(found.steps) == 1
    assert [len(request.only_if) for request in found.requests] == [1, 1]


def test_come_is_to_where_the_speaker_is() -> None:
    found = interpret("Come to the kitchen and bring the mug.")
    assert isinstance(found, Goal)
    assert found.model_dump(mode="json", by_alias=True, exclude_defaults=True) == [
        {"go": {"in": {"the": "kitchen"}}},
        {"move": {"the": "mug"}, "to": "me"},
    ]


def test_the_others_are_not_left_out_of_those_that_they_differ_from() -> None:
    found = interpret("Only the red cups go into the sink; the others can stay on the table.")
    assert isinstance(found, Goal)
    assert found.model_dump(mode="json", by_alias=True, exclude_defaults=True) == [
        {"move": {"all": "cup", "color": "red", "as": "cup"}, "to": {"in": {"the": "sink"}}},
        "any_time",
        {"leave": {"all": "cup", "other_than": "cup", "on_top": {"the": "table"}}},
    ]
