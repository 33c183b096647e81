"""Pairs of texts that mean the same, and what is asked about rather than guessed."""

from __future__ import annotations

import pytest

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, NoCommand, NoCommandReason, NotUnderstood

SAME = [
    # Polite and indirect
    ("I was wondering whether you might take the box to the garage", "Take the box to the garage."),
    ("Kindly see to it that the cup ends up in the sink.", "Put the cup in the sink."),
    ("Bring the towel to the bathroom at your convenience.", "Bring the towel to the bathroom."),
    ("Switch the TV off, nobody is watching.", "Switch the TV off."),
    ("Take a pillow to the bedroom for our visitor.", "Take a pillow to the bedroom."),
    # Other verbs and nouns
    (
        "Grasp a lemon from the desk and set it on the stove.",
        "Take a lemon from the desk and set it on the stove.",
    ),
    ("Proceed to the pantry.", "Go to the pantry."),
    ("Enter the pantry and turn on the light.", "Go to the pantry and turn on the light."),
    ("Approach the wardrobe.", "Go to the wardrobe."),
    ("Move to the dishwasher.", "Go to the dishwasher."),
    ("Serve two pears on a tray.", "Put two pears on a tray."),
    ("Put a rinsed peach in the drawer.", "Put a washed peach in the drawer."),
    ("Bring me the cuddly toy from the ottoman.", "Bring me the teddy from the footstool."),
    # Hot and cold
    (
        "Chill a lime and put it on the desk.",
        "Put a lime in the fridge, then put it on the desk.",
    ),
    (
        "Put a chilled peach on the shelf.",
        "Put a peach in the fridge, then put it on the shelf.",
    ),
    (
        "Warm up the pie.",
        "Put the pie in the microwave, then switch on the microwave.",
    ),
    (
        "Heat a carrot in the oven, then bring it to me.",
        "Put a carrot in the oven, then switch on the oven, then bring the carrot to me.",
    ),
    ("Place cold bread on the desk.", "Place a chilled bread on the desk."),
    ("Cook the salmon in the oven.", "Put the salmon in the oven, then cook it."),
    (
        "Move the pot with a carrot from the stove to the sink.",
        "Move the pot with a carrot in it from the stove to the sink.",
    ),
    ("Navigate to the desk then locate a pen and give it to me.", "Bring me a pen from the desk."),
    (
        "Take the mugs from the desk and wash them in the sink.",
        "Take the mugs from the desk to the sink, then wash them.",
    ),
    (
        "Put the pen and the book on the desk and arrange them neatly next to each other.",
        "Put the pen and the book on the desk next to each other.",
    ),
    # Occasions, tools and lists
    ("Exchange the lamp for the vase.", "Swap the lamp and the vase."),
    ("Switch the places of the cup and the vase.", "Swap the cup and the vase."),
    (
        "Trade the red pillow for the blue pillow on the bed.",
        "Swap the red pillow and the blue pillow on the bed.",
    ),
    ("Set the table with two plates and a jug.", "Put two plates and a jug on the table."),
    ("Make two slices of toast.", "Toast two slices of bread."),
    ("Make coffee in a clean cup.", "Fill a clean cup with coffee."),
    ("Slice the cucumber with a knife.", "Slice the cucumber."),
    (
        "Put the following things on the bed: a hat, a scarf and two books.",
        "Put a hat, a scarf and two books on the bed.",
    ),
    (
        "open the oven put the pie in the oven close the oven turn on the oven",
        "Open the oven. Put the pie in the oven. Close the oven. Turn on the oven.",
    ),
    (
        "Close the lap top and turn on the lightswitch.",
        "Close the laptop and turn on the light switch.",
    ),
    # Asides and haste
    (
        "The tray is in the pantry, as far as I recall; bring it here.",
        "Bring the tray in the pantry here.",
    ),
    (
        "Somebody put the remote in the fridge again, unbelievable. It belongs on the TV stand.",
        "The remote is in the fridge. It belongs on the TV stand.",
    ),
    ("When you get a moment, put the hammer in the toolbox.", "Put the hammer in the toolbox."),
    (
        "Whenever you find the time, put the hammer in the toolbox.",
        "Put the hammer in the toolbox.",
    ),
    (
        "Sorry to bug you, but the slippers need to go in the closet.",
        "The slippers need to go in the closet.",
    ),
    (
        "Umbrella to the hallway, yoga mat to the closet, go go go!",
        "Umbrella to the hallway, yoga mat to the closet!",
    ),
    ("Do me a favour: put the cup on the desk.", "Put the cup on the desk."),
    ("Your job: put the cup on the desk.", "Put the cup on the desk."),
    ("Find my wallet, I can't leave without it.", "Find my wallet."),
    ("Switch off the TV, I'm going to bed.", "Switch off the TV."),
    ("Put several glasses on the tray for the party.", "Put several glasses on the tray."),
    ("The lamp in the lounge can be turned off now.", "Turn off the lamp in the lounge."),
    # One of several, and another
    (
        "Take one of the cups on the desk and put it on the bed.",
        "Put a cup that is on the desk on the bed.",
    ),
    (
        "Put a candle on the table and another on the bed.",
        "Put a candle on the table and another candle on the bed.",
    ),
    ("Put the cup somewhere else.", "Put the cup elsewhere."),
    ("tv off, radio on", "Switch the tv off and the radio on."),
    ("Put the book on the table, would you, dear?", "Put the book on the table."),
    ("The cup on the desk should be somewhere else.", "The cup on the desk should be elsewhere."),
    (
        "Put the scissors somewhere else, not on the bed.",
        "Put the scissors somewhere else. Never put the scissors on the bed.",
    ),
    (
        "Move the cup to another place, but not to the sink.",
        "Move the cup to another place. Never put the cup in the sink.",
    ),
    (
        "Put the book in another room, not in the kitchen.",
        "Put the book in another room. Never put the book in the kitchen.",
    ),
    ("Put the book away, it goes on the shelf.", "Put the book on the shelf."),
    ("Tip the cucumber into the bowl.", "Put the cucumber into the bowl."),
    # Twice, and instead of what
    ("The cereal goes in the pantry, so put it there.", "Put the cereal in the pantry."),
    ("The cans go in the sink, all of them.", "The cans go in the sink."),
    ("The doll should be on the bed, not on the floor.", "Put the doll on the bed."),
    ("Put the cup on the table instead of the shelf.", "Put the cup on the table."),
    ("Bring me a book, any book.", "Bring me a book."),
    # Places
    (
        "Take the pan off the table and onto the stove.",
        "Move the pan from the top of the table onto the stove.",
    ),
    ("Put the blender away in the cupboard.", "Put the blender in the cupboard."),
    ("Give each bed two pillows.", "Put two pillows on each bed."),
    (
        "Open the fridge, put the milk in, close it.",
        "Open the fridge, put the milk in it, close it.",
    ),
    # What a remark is about
    ("The plant looks thirsty, water it.", "Water the plant."),
    (
        "I keep tripping over the dumbbell, so move it to the closet.",
        "Move the dumbbell to the closet.",
    ),
    ("Wherever the toys are, put them in the box.", "Put the toys in the box."),
    ("I have washed the cups. Put them in the cabinet.", "Put the cups in the cabinet."),
    # None, nothing, all but
    ("Make sure that none of the lamps are on.", "Switch off all lamps."),
    ("Neither the oven nor the TV may stay on.", "Switch off the oven and the TV."),
    ("Don't leave the lights on.", "Turn off the lights."),
    ("Lights out in the office!", "Switch off the lights in the office."),
    ("Nothing should be on the desk.", "Clear the desk."),
    (
        "All lamps should be off except the one in the hall.",
        "Switch off all lamps except the one in the hall.",
    ),
    # Order
    (
        "Last of all bring me the cup, but start by closing the fridge.",
        "Close the fridge, then bring me the cup.",
    ),
    ("1) open the fridge 2) close the oven", "Open the fridge, then close the oven."),
    (
        "The first thing to do is to open the fridge. The next step is to close the oven.",
        "Open the fridge, then close the oven.",
    ),
    # Plural of several phrases
    (
        "Get the cups from the hall and the plates from the office and wash them.",
        "Wash the cups from the hall and the plates from the office.",
    ),
    (
        "Wash the cup. Slice the apple. Put them in the sink.",
        "Wash the cup, slice the apple, put the cup and the apple in the sink.",
    ),
    (
        "Toast the bread, slice the tomato and put both on the tray.",
        "Toast the bread, slice the tomato, put the bread and the tomato on the tray.",
    ),
    # Relative clauses and facts
    (
        "The cups on the table that are dirty go in the sink.",
        "The dirty cups on the table go in the sink.",
    ),
    (
        "My book is old. It is on the desk. Bring it here.",
        "Bring the book that is on the desk here.",
    ),
    (
        "There are two boxes in the hall. Take the bigger one to the office.",
        "Take the biggest box in the hall to the office.",
    ),
    (
        "Take everything that is on the floor and put it in the box.",
        "Put everything that is on the floor in the box.",
    ),
    (
        "Wipe the desk, and when it is clean put the book on it.",
        "Wipe the desk, then put the book on it.",
    ),
    (
        "Take the pillow to the office and close the wardrobe there.",
        "Take the pillow to the office. Close the wardrobe in the office.",
    ),
    (
        "The red book goes on the shelf, the blue one on the desk, and the cups in the sink.",
        "Put the red book on the shelf, put the blue book on the desk, put the cups in the sink.",
    ),
    (
        "The cat knocked over the plant in the hall; put it on the shelf.",
        "Put the plant that is in the hall on the shelf.",
    ),
    (
        "Plates go in the left cabinet and glasses in the right one.",
        "Plates go in the left cabinet and glasses in the right cabinet.",
    ),
    (
        "Slice one of the red apples and one of the green ones.",
        "Slice one of the red apples and one of the green apples.",
    ),
    # Who
    (
        "Would you wash the plates while I wash the pots?",
        "You wash the plates and I will wash the pots.",
    ),
    ("We are four for dinner, please set the table.", "Set the table for four."),
]


@pytest.mark.parametrize(("text", "plain"), SAME)
def test_both_mean_the_same(text: str, plain: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal)
    assert same_meaning(found, interpret(plain)), found


def test_what_is_otherwise_has_the_opposite_condition() -> None:
    found = interpret("If the cup is dirty, wash it, otherwise put it in the cabinet.")
    assert isinstance(found, Goal)
    wash, store = found.requests
    assert (wash.only_if, wash.unless) == (store.unless, store.only_if)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "Apart from the bananas, all the food on the counter needs to go in the fridge.",
            "All the food on the counter goes in the fridge apart from the bananas.",
        ),
        (
            "Except for the red one, put all cups on the shelf.",
            "Put all cups except the red one on the shelf.",
        ),
        ("Chop two carrots for a stew.", "Chop two carrots."),
        ("Please take care of slicing the bread.", "Slice the bread."),
        ("We'll need several glasses on the tray.", "Put several glasses on the tray."),
        (
            "I'll cook the chicken, and when I'm done, you can clean the stove.",
            "I'll cook the chicken, then you clean the stove.",
        ),
        (
            "I want the two photo frames on the dresser, one next to the other.",
            "Put the two photo frames next to each other on the dresser.",
        ),
    ],
)
def test_a_construction_means_what_a_plainer_one_does(text: str, plain: str) -> None:
    found = interpret(text)
    assert isinstance(found, Goal)
    assert same_meaning(found, interpret(plain)), found


@pytest.mark.parametrize(
    "text",
    [
        "Apart from the knives, put the plates on the shelf.",
        "Fill the kettle for the red one.",
        "Switch off the lamp for the second time.",
        "Put the cup on the shelf for the salad.",
    ],
)
def test_what_only_looks_like_an_exception_or_purpose_is_refused(text: str) -> None:
    assert isinstance(interpret(text), NotUnderstood)


@pytest.mark.parametrize(
    "text",
    [
        "Clean up.",
        "Sort the books.",
        "Bring the cup from the table in the kitchen on the counter.",
        "I have three friends over, set the table.",
        "Bring the bowls to the office and bring the tray as well.",
        "Wash the cup on the desk which is dirty.",
        "Slice the tomato and put both on the table.",
    ],
)
def test_what_is_not_sure_is_asked(text: str) -> None:
    assert isinstance(interpret(text), Ask)


@pytest.mark.parametrize(
    "text",
    ["Slice an apple and bring me the slices on a plate.", "Tomorrow morning, water the plants."],
)
def test_what_no_rule_covers_is_refused(text: str) -> None:
    assert isinstance(interpret(text), NotUnderstood)


@pytest.mark.parametrize("text", ["Stop!", "stop right there", "Please wait.", "Don't move!"])
def test_stopping_is_no_goal(text: str) -> None:
    assert interpret(text) == NoCommand(reason=NoCommandReason.STOP)
