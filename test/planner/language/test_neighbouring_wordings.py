"""One fault, several wordings: quantifiers, owners, order in lists, exceptions, contradictions."""

from __future__ import annotations

import pytest
import yaml

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import (
    Ask,
    Impossible,
    ImpossibleReason,
    NoCommand,
    NoCommandReason,
    NotUnderstood,
)

MEANINGS = [
    # "Any" with a number
    (
        "Put any one of the candles on the shelf.",
        "[{move: {a: candle}, to: {on_top: {the: shelf}}}]",
    ),
    ("Wash any one of these cups.", "[{make: {a: cup}, be: clean}]"),
    ("Put any one candle on the shelf.", "[{move: {a: candle}, to: {on_top: {the: shelf}}}]"),
    (
        "Place any two vegetables in the pot.",
        "[{move: {a: vegetable, n: 2}, to: {in: {the: pot}}}]",
    ),
    ("Bring me any three of the books.", "[{move: {a: book, n: 3}, to: me}]"),
    ("Don't touch any of the cups.", "[any_time, {leave: {all: cup}}]"),
    ("Wash any of the cups that are dirty.", "[{make: {all: cup, is: dirty}, be: clean}]"),
    # Whose
    ("Top up the dog's bowl with water.", "[{make: {the: dog bowl}, be: filled with water}]"),
    ("Put the cat's bowl on the floor.", "[{move: {the: cat bowl}, to: {on_top: {the: floor}}}]"),
    (
        "Put the kitchen's chair in the hall.",
        "[{move: {the: chair, in: {the: kitchen}}, to: {in: {the: hall}}}]",
    ),
    ("Clean the bathroom's sink.", "[{make: {the: sink, in: {the: bathroom}}, be: clean}]"),
    ("Bring me mom's mug.", "[{move: {the: mug}, to: me}]"),
    # Order within a list
    (
        "Bring me the tablet, then the charger, and lastly the headphones.",
        (
            "[{move: {the: tablet}, to: me}, then, {move: {the: charger}, to: me}, then, "
            "{move: {the: headphones}, to: me}]"
        ),
    ),
    (
        "Turn off the lamp, then the TV, and finally the radio.",
        (
            "[{make: {the: lamp}, be: powered off}, then, {make: {the: tv}, be: powered off}, "
            "then, {make: {the: radio}, be: powered off}]"
        ),
    ),
    (
        "I want the tablet, then the charger.",
        "[{move: {the: tablet}, to: me}, then, {move: {the: charger}, to: me}]",
    ),
    (
        "Find the keys, then the wallet, and lastly the phone.",
        "[{find: {the: key}}, then, {find: {the: wallet}}, then, {find: {the: phone}}]",
    ),
    (
        "First the cup, then the plate, and then the fork go in the sink.",
        (
            "[{move: {the: cup}, to: {in: {the: sink}}}, then, {move: {the: plate}, to: {in: "
            "{the: sink}}}, then, {move: {the: fork}, to: {in: {the: sink}}}]"
        ),
    ),
    (
        "Wash the cup, then the plate, and put them on the table.",
        (
            "[{make: {the: cup}, be: clean}, then, {make: {the: plate}, be: clean}, then, "
            "{move: [{the: cup}, {the: plate}], to: {on_top: {the: table}}}]"
        ),
    ),
    # What a free choice leaves out
    (
        "Bring me a fruit, anything but a banana.",
        "[{move: {a: fruit, except: {all: banana}}, to: me}]",
    ),
    (
        "Get me a drink, anything except juice.",
        "[{move: {a: drink, except: {all: juice}}, to: me}]",
    ),
    (
        "Bring me a cup, any but the red one.",
        "[{move: {a: cup, except: {the: cup, color: red}}, to: me}]",
    ),
    (
        "Bring me a cup, just not the red one.",
        "[{move: {a: cup, except: {the: cup, color: red}}, to: me}]",
    ),
    (
        "Put a book on the table, anything other than a notebook.",
        "[{move: {a: book, except: {all: notebook}}, to: {on_top: {the: table}}}]",
    ),
    # What is wrong as it is
    (
        "Hang on, the iron shouldn't be here, take it to the laundry room.",
        "[{move: {the: iron}, to: {in: {the: laundry room}}}]",
    ),
    (
        "The shoes shouldn't be on the bed, put them on the rack.",
        "[{move: {all: shoe, on_top: {the: bed}}, to: {on_top: {the: rack}}}]",
    ),
    (
        "The ball does not belong on the table, put it in the box.",
        "[{move: {the: ball, on_top: {the: table}}, to: {in: {the: box}}}]",
    ),
    (
        "The toys are not supposed to be on the couch, move them to the playroom.",
        "[{move: {all: toy, on_top: {the: couch}}, to: {in: {the: playroom}}}]",
    ),
    (
        "Don't put the cup in the sink, put it in the dishwasher.",
        (
            "[{move: {the: cup}, to: {in: {the: dishwasher}}}, any_time, "
            "{never: {the: cup}, to: {in: {the: sink}}}]"
        ),
    ),
    # "Until", "unless"
    (
        "Don't turn on the washing machine until all the towels are in it.",
        (
            "[{move: {all: towel}, to: {in: {the: washing machine}}}, then, "
            "{make: {the: washing machine}, be: powered on}]"
        ),
    ),
    (
        "Don't bring me the cup until it is clean.",
        "[{make: {the: cup}, be: clean}, then, {move: {the: cup}, to: me}]",
    ),
    (
        "Turn the radio on, wait till the cups are in the dishwasher, and turn it off again.",
        (
            "[{make: {the: radio}, be: powered on}, then, {move: {all: cup}, to: {in: {the: "
            "dishwasher}}}, then, {make: {the: radio}, be: powered off}]"
        ),
    ),
    (
        "Put the potatoes in the pot and wait until they are cooked.",
        ("[{move: {all: potato}, to: {in: {the: pot}}}, then, {make: {all: potato}, be: cooked}]"),
    ),
    (
        "Put the toys in the box unless they're balls.",
        "[{move: {all: toy, except: {all: ball}}, to: {in: {the: box}}}]",
    ),
    (
        "Bring me the book, I'm too lazy to stand up.",
        "[{move: {the: book}, to: me}]",
    ),
    (
        "Switch the lamp off after bringing me the book, not before.",
        "[{move: {the: book}, to: me}, then, {make: {the: lamp}, be: powered off}]",
    ),
    # One of those that were washed
    (
        "Wash both bowls, put the bigger one in the cupboard and the smaller one on the table.",
        (
            "[{make: {the: bowl, n: 2}, be: clean}, then, "
            "{move: {the: bowl, pick: biggest}, to: {in: {the: cupboard}}}, "
            "{move: {the: bowl, pick: smallest}, to: {on_top: {the: table}}}]"
        ),
    ),
    (
        "Fill the glasses and bring me the big one.",
        "[{make: {all: glass}, be: filled}, then, {move: {the: glass, size: big}, to: me}]",
    ),
    # What is picked up in between, and where one stops
    (
        "Look for the bucket, pick it up, and put it onto a counter.",
        "[{move: {the: bucket}, to: {on_top: {a: counter}}}]",
    ),
    ("Pick the cup up and put it in the sink.", "[{move: {the: cup}, to: {in: {the: sink}}}]"),
    ("Please look for the toy and stop next to it.", "[{go: {next_to: {the: toy}}}]"),
    ("Stop the radio.", "[{make: {the: radio}, be: powered off}]"),
    # Several wishes
    *(
        (
            f"{wish} the cup is on the table and {that}the plate is next to it.",
            (
                "[{move: {the: cup}, to: {on_top: {the: table}}}, "
                "{move: {the: plate}, to: {next_to: {the: cup}}}]"
            ),
        )
        for wish in ("Ensure", "Ensure that", "Make sure", "See to it that")
        for that in ("", "that ")
    ),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
def test_wordings_have_their_meaning(text: str, meaning: str) -> None:
    found = interpret(text)
    assert same_meaning(found, Goal.model_validate(yaml.safe_load(meaning))), found


@pytest.mark.parametrize(
    "text",
    [
        "Put the cup in the sink and leave it on the table.",
        "Put the cup in the sink but keep it on the table.",
        "Bring the book to the bedroom and leave it in the office.",
        (
            "Fill the pitcher after you have brought it to the table, but bring it to the table "
            "only once it is filled."
        ),
        "Wash the cup before putting it on the shelf, and put it on the shelf before washing it.",
        "Wash the cup after putting it in the sink, but put it in the sink after washing it.",
        (
            "Turn on the lamp only after closing the fridge, but close the fridge only after "
            "turning on the lamp."
        ),
    ],
)
def test_places_and_orders_that_exclude_each_other_are_refused(text: str) -> None:
    found = interpret(text)
    assert isinstance(found, Impossible), found
    assert found.reason is ImpossibleReason.CONTRADICTION


@pytest.mark.parametrize(
    "text",
    [
        "Put the cup in the sink, then leave it on the table.",
        "Take the plate, rinse it and leave it in the sink.",
        "Take the cup to the kitchen and leave it on the table.",
        "Open the fridge, put the juice inside, close it, then open it again.",
        "Wash the cup, put it on the table, and wash it after filling the glass.",
    ],
)
def test_what_follows_one_after_the_other_is_no_contradiction(text: str) -> None:
    assert isinstance(interpret(text), Goal)


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        ("Bring me the dog's blanket.", NotUnderstood, "dog's blanket"),
        ("Bring me the tablet's charger.", NotUnderstood, "tablet's"),
        ("Bring me yesterday's newspaper.", NotUnderstood, "yesterday's newspaper"),
        ("Put any of the candles on the shelf.", Ask, "any of the candles"),
        ("Bring me a cup and a plate, just not the red one.", Ask, "the red one"),
        ("Take the cups from Anna's room to the kitchen.", NotUnderstood, "Anna's room"),
        ("Never open the fridge until the lamp is on.", NotUnderstood, "until"),
        ("Turn on the TV and wait until I come.", NotUnderstood, "until"),
        ("Please do not touch the vase until the table is clean.", NotUnderstood, "until"),
        (
            "The cup should be on the table and the plate is next to it.",
            NotUnderstood,
            "the plate is next to it",
        ),
        (
            "Put the cup on the table and the plate is next to it.",
            NotUnderstood,
            "the plate is next to it",
        ),
        ("Make sure the lamp is on and the door is closed.", NotUnderstood, "the door is closed"),
        (
            "Ensure the lamp is on, the door is closed, and the cup is on the table.",
            NotUnderstood,
            "the door is closed",
        ),
    ],
)
def test_what_tells_things_apart_and_what_is_wished_is_not_dropped(
    text: str, outcome: type[Ask | NotUnderstood], words: str
) -> None:
    found = interpret(text)
    assert isinstance(found, outcome), found
    assert found.words == (words,)


@pytest.mark.parametrize("text", ["Where did I leave my glasses?", "Where are my glasses?"])
def test_a_question_is_not_asked_back(text: str) -> None:
    assert interpret(text) == NoCommand(reason=NoCommandReason.QUESTION)


def test_half_of_what_cannot_be_cut_is_impossible() -> None:
    found = interpret("Put half a fork on the table.")
    assert isinstance(found, Impossible)
    assert found.reason is ImpossibleReason.AMOUNT
    assert isinstance(interpret("Bring me half a lemon."), NotUnderstood)
    assert isinstance(interpret("Fill half a glass with water."), NotUnderstood)
