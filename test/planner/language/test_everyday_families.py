"""Constructions of everyday speech, each in several wordings: repairs, reasons, topics, choices."""

from __future__ import annotations

import pytest
import yaml

from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask, NotUnderstood

MEANINGS = [
    # Corrections and hesitation
    (
        "Umm, the iron, no wait, the hair dryer, needs to be in the utility room.",
        "[{move: {the: hair dryer}, to: {in: {the: utility room}}}]",
    ),
    (
        "put half a dozen bottles, umm, make that eight, in the pantry",
        "[{move: {a: bottle, n: 8}, to: {in: {the: pantry}}}]",
    ),
    (
        "Set the tablet on the bed no wait on the coffee table",
        "[{move: {the: tablet}, to: {on_top: {the: coffee table}}}]",
    ),
    ("Bring me two, no, three plates.", "[{move: {a: plate, n: 3}, to: me}]"),
    ("Bring me the red cup, no wait, the blue one.", "[{move: {the: cup, color: blue}, to: me}]"),
    (
        "Put the milk in the fridge. No, wait, put it on the table.",
        "[{move: {the: milk}, to: {on_top: {the: table}}}]",
    ),
    ("Switch on the radio, oh wait, switch on the TV.", "[{make: {the: tv}, be: powered on}]"),
    (
        "Put two apples - no, make that three - in the bowl.",
        "[{move: {a: apple, n: 3}, to: {in: {the: bowl}}}]",
    ),
    (
        "put three books um four books on the shelf",
        "[{move: {a: book, n: 4}, to: {on_top: {the: shelf}}}]",
    ),
    ("Get me the, um, the scissors.", "[{move: {the: scissors}, to: me}]"),
    ("uh could you uh grab me a fork", "[{move: {a: fork}, to: me}]"),
    (
        "Wash the pan, then, hold on, no, first wash the cups and then the pan.",
        "[{make: {all: cup}, be: clean}, then, {make: {the: pan}, be: clean}]",
    ),
    # What the speaker says why
    ("Put the cups in the sink, they stink.", "[{move: {all: cup}, to: {in: {the: sink}}}]"),
    (
        "Be so good as to put the radio on, I want to hear the news.",
        "[{make: {the: radio}, be: powered on}]",
    ),
    (
        "Bring me my headphones, the meeting starts soon!",
        "[{move: {the: headphones}, to: me}]",
    ),
    (
        "Toast four slices of bread, the kids are starving.",
        "[{make: {a: slice of bread, n: 4}, be: toasted}]",
    ),
    (
        "Since it's raining, bring the umbrella to the entryway.",
        "[{move: {the: umbrella}, to: {in: {the: entryway}}}]",
    ),
    (
        "Grandma arrives soon, so put fresh towels in the bathroom.",
        "[{move: {all: towel}, to: {in: {the: bathroom}}}]",
    ),
    ("Tidy up the playroom before bedtime.", "[{prepare: tidy, at: {the: playroom}}]"),
    ("The study looks like a mess. Tidy up in there.", "[{prepare: tidy, at: {the: study}}]"),
    # Whichever
    (
        "Fetch me a notebook and a couple of pens, doesn't matter which.",
        "[{move: [{a: notebook}, {a: pen, n: 2}], to: me}]",
    ),
    ("Get me a mug, I don't care which one.", "[{move: {a: mug}, to: me}]"),
    ("Any pencil will do, just bring me one.", "[{move: {a: pencil}, to: me}]"),
    (
        "Whichever towels are still dirty, toss them in the hamper.",
        "[{move: {all: towel, is: dirty}, to: {in: {the: hamper}}}]",
    ),
    # What is spoken of stands before the command
    (
        "the small red box on top of the wardrobe, bring that to me pls",
        "[{move: {the: box, color: red, size: small, on_top: {the: wardrobe}}, to: me}]",
    ),
    (
        "The mug on the desk, take it to the kitchen.",
        "[{move: {the: mug, on_top: {the: desk}}, to: {in: {the: kitchen}}}]",
    ),
    # Where something is
    ("Could you find out where my pills have got to?", "[{find: {the: pills}}]"),
    ("Can you check where I left my phone?", "[{find: {the: phone}}]"),
    ("See where the cat bowl went.", "[{find: {the: cat bowl}}]"),
    ("I've lost my sunglasses. Could you look around for them?", "[{find: {the: sunglasses}}]"),
    # Clearing
    (
        "Clear everything off the desk and carry it to the garage.",
        "[{move: {all: thing, on_top: {the: desk}}, to: {in: {the: garage}}}]",
    ),
    (
        "Clear the table and put everything in the dishwasher.",
        "[{move: {all: thing, on_top: {the: table}}, to: {in: {the: dishwasher}}}]",
    ),
    (
        "Clear the plates from the table and wash them.",
        (
            "[{move: {all: plate, at: {the: table}}, to: elsewhere}, then, "
            "{make: {all: plate, at: {the: table}}, be: clean}]"
        ),
    ),
    # What an exception takes with it
    (
        "Switch off all the lights apart from the desk lamp in the study.",
        "[{make: {all: light, except: {the: desk lamp, in: {the: study}}}, be: powered off}]",
    ),
    (
        "Put all the cups except the blue one in the sink.",
        "[{move: {all: cup, except: {the: cup, color: blue}}, to: {in: {the: sink}}}]",
    ),
    # Numbers that stand alone
    (
        "There are three apples on the table. Bring me two.",
        "[{move: {a: apple, n: 2, on_top: {the: table}}, to: me}]",
    ),
    (
        "Wash the cups and put two on the table.",
        "[{make: {all: cup}, be: clean}, then, {move: {a: cup, n: 2}, to: {on_top: {the: table}}}]",
    ),
    # Plurals of one thing, and what "it" is after a list
    (
        "Put my jeans in the suitcase and take it to the entryway.",
        (
            "[{move: {the: jeans}, to: {in: {the: suitcase}}}, then, "
            "{move: {the: suitcase}, to: {in: {the: entryway}}}]"
        ),
    ),
    (
        "Put two jumpers and the hair dryer into the suitcase and take it to the entryway.",
        (
            "[{move: [{a: jumper, n: 2}, {the: hair dryer}], to: {in: {the: suitcase}}}, then, "
            "{move: {the: suitcase}, to: {in: {the: entryway}}}]"
        ),
    ),
    (
        "My spectacles are on the bookcase. Would you bring them to me?",
        "[{move: {the: spectacles, on_top: {the: bookcase}}, to: me}]",
    ),
    # Supposed to be somewhere
    (
        "My pills should be in the bathroom cabinet; fetch them.",
        "[{move: {the: pills, in: {the: cabinet, in: {the: bathroom}}}, to: me}]",
    ),
    (
        "The plates should be on the table. Wash them first.",
        (
            "[{make: {all: plate}, be: clean}, then, "
            "{move: {all: plate}, to: {on_top: {the: table}}}]"
        ),
    ),
    # One of those
    (
        (
            "There are two jackets on the couch. Put the black one in the wardrobe and bring me "
            "the red one."
        ),
        (
            "[{move: {the: jacket, color: black, on_top: {the: couch}}, to: {in: {the: wardrobe}}},"
            " {move: {the: jacket, color: red, on_top: {the: couch}}, to: me}]"
        ),
    ),
    (
        "The book on the bed belongs on the shelf and the one on the couch on the desk.",
        (
            "[{move: {the: book, on_top: {the: bed}}, to: {on_top: {the: shelf}}}, "
            "{move: {the: book, on_top: {the: couch}}, to: {on_top: {the: desk}}}]"
        ),
    ),
    (
        "Bring me the vase and put the orchid in its place.",
        ("[{move: {the: vase}, to: me}, {move: {the: orchid}, to: {at: {place_of: {the: vase}}}}]"),
    ),
    (
        "Tidy up the bedroom. Next, do the bathroom.",
        ("[{prepare: tidy, at: {the: bedroom}}, then, {prepare: tidy, at: {the: bathroom}}]"),
    ),
    (
        "Bring me my laptop, but first my phone.",
        "[{move: {the: phone}, to: me}, then, {move: {the: laptop}, to: me}]",
    ),
    ("Don't turn on the radio, the baby's asleep.", "[{never: {the: radio}, be: powered on}]"),
    (
        "Take the vase that's next to the TV to the dining table.",
        "[{move: {the: vase, next_to: {the: tv}}, to: {at: {the: dining table}}}]",
    ),
    # For how many
    (
        "There'll be five of us for lunch; lay the table in the kitchen.",
        "[{prepare: set_table, people: 5, at: {the: table, in: {the: kitchen}}}]",
    ),
    ("Make some tea, there'll be four of us.", "[{prepare: make_tea, people: 4}]"),
    ("It's just me tonight, so set the table for one.", "[{prepare: set_table, people: 1}]"),
    (
        "First the cups have to be washed, and then I'd like coffee for two.",
        "[{make: {all: cup}, be: clean}, then, {prepare: make_coffee, people: 2}]",
    ),
    # Before that
    (
        (
            "Lights out at the very end, please; before that, put the laptop on the desk and the "
            "phone on the bed."
        ),
        (
            "[{move: {the: laptop}, to: {on_top: {the: desk}}}, "
            "{move: {the: phone}, to: {on_top: {the: bed}}}, then, "
            "{make: {all: light}, be: powered off}]"
        ),
    ),
    (
        (
            "My brother left his cap and his phone on the bed; put the cap on the shelf and "
            "bring the "
            "phone to me."
        ),
        (
            "[{move: {the: cap, on_top: {the: bed}}, to: {on_top: {the: shelf}}}, "
            "{move: {the: phone, on_top: {the: bed}}, to: me}]"
        ),
    ),
    # One article for two things, and what "one" is
    (
        "Wash the cups and glasses in the sink.",
        "[{make: [{all: cup, in: {the: sink}}, {all: glass, in: {the: sink}}], be: clean}]",
    ),
    (
        "Put a spoon in each cup and one on the table.",
        (
            "[{move: {a: spoon, each: true}, to: {in: {all: cup}}}, "
            "{move: {a: spoon}, to: {on_top: {the: table}}}]"
        ),
    ),
    # Told, and what to do about it
    ("the toaster's still on can you get that", "[{make: {the: toaster}, be: powered off}]"),
    (
        "The orchid on my desk hasn't been watered all week, would you see to it?",
        "[{make: {the: orchid, on_top: {the: desk}}, be: watered}]",
    ),
    (
        "The lamp in the hall is still on, could you take care of that?",
        "[{make: {the: lamp, in: {the: hall}}, be: powered off}]",
    ),
    (
        "I can't reach the tall vase on top of the fridge. Could you set it on the counter?",
        "[{move: {the: vase, size: tall, on_top: {the: fridge}}, to: {on_top: {the: counter}}}]",
    ),
    (
        "The lamp on the desk flickers, turn it off.",
        "[{make: {the: lamp, on_top: {the: desk}}, be: powered off}]",
    ),
    (
        "The milk in the fridge has gone off, throw it away.",
        "[{move: {the: milk, in: {the: fridge}}, to: {in: {a: trash can}}}]",
    ),
    # Asked, and what to do then
    (
        "Could you check if the fridge is open? If it is, close it.",
        "[{only_if: {the: fridge, is: open}, make: {the: fridge}, be: closed}]",
    ),
    (
        "Is the stove off? If not, switch it off.",
        "[{unless: {the: stove, is: powered off}, make: {the: stove}, be: powered off}]",
    ),
    ("Is the oven still open? Close it, please.", "[{make: {the: oven}, be: closed}]"),
    # A place before the command
    (
        "On the desk, put the phone to the left of the laptop.",
        "[{move: {the: phone}, to: {on_top: {the: desk}, left_of: {the: laptop}}}]",
    ),
    (
        "On the coffee table, place the magazines.",
        "[{move: {all: magazine}, to: {on_top: {the: coffee table}}}]",
    ),
    (
        "In the kitchen, turn off the lights.",
        "[{make: {all: light, in: {the: kitchen}}, be: powered off}]",
    ),
    ("From the fridge, bring me the milk.", "[{move: {the: milk, at: {the: fridge}}, to: me}]"),
    (
        "In the study, there is a book on the desk, bring it to me.",
        "[{move: {the: book, on_top: {the: desk, in: {the: study}}}, to: me}]",
    ),
    # Participles behind a wish
    (
        "I'd like the plates washed and put in the cabinet.",
        "[{make: {all: plate}, be: clean}, then, {move: {all: plate}, to: {in: {the: cabinet}}}]",
    ),
    (
        "Could I have two clean towels brought to the bathroom?",
        "[{move: {a: towel, n: 2, is: clean}, to: {in: {the: bathroom}}}]",
    ),
    # Who does what
    (
        "You load the dishwasher with the plates and I'll do the cups.",
        (
            "[{who: robot, move: {all: plate}, to: {in: {the: dishwasher}}}, "
            "{who: speaker, move: {all: cup}, to: {in: {the: dishwasher}}}]"
        ),
    ),
    (
        "You fill the bucket, then I clean the sink.",
        (
            "[{who: robot, make: {the: bucket}, be: filled}, then, "
            "{who: speaker, make: {the: sink}, be: clean}]"
        ),
    ),
    # What is used goes on being spoken of
    (
        "Fill the can, water the plant with it and put it in the garage.",
        (
            "[{make: {the: can}, be: filled}, then, {make: {the: plant}, be: watered}, then, "
            "{move: {the: can}, to: {in: {the: garage}}}]"
        ),
    ),
    (
        (
            "You can put the puzzles in the toy chest, but first pick up the dolls and drop them "
            "in the basket."
        ),
        (
            "[{move: {all: doll}, to: {in: {the: basket}}}, then, "
            "{move: {all: puzzle}, to: {in: {the: toy chest}}}]"
        ),
    ),
    # Places
    (
        "Put my phone wherever the charger is.",
        "[{move: {the: phone}, to: {at: {place_of: {the: charger}}}}]",
    ),
    (
        "Wash the cups and return them to the cupboard.",
        "[{make: {all: cup}, be: clean}, then, {move: {all: cup}, to: {in: {the: cupboard}}}]",
    ),
    (
        "One of the rackets goes to the garage, and the other one goes under my bed.",
        (
            "[{move: {a: racket, as: first}, to: {in: {the: garage}}}, "
            "{move: {the: racket, other_than: first}, to: {under: {the: bed}}}]"
        ),
    ),
]


@pytest.mark.parametrize(("text", "meaning"), MEANINGS)
def test_the_meaning(text: str, meaning: str) -> None:
    found = interpret(text)
    assert same_meaning(found, Goal.model_validate(yaml.safe_load(meaning))), found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Put the cup, er, the glass on the table.", "the cup, er, the glass"),
        ("Take the spoon out of the mug and wash it.", "it"),
        ("Put the knife next to the plate and clean it.", "it"),
        ("Take everything out of the box and put it on the shelf.", "it"),
        ("Turn off everything but the fridge in the kitchen.", "in the kitchen"),
        ("In the box, put the cup in the sink.", "In the box"),
    ],
)
def test_what_has_two_readings_is_asked(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, Ask), found
    assert found.words == (words,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I want the hammock put up, and bring me the cup.", "hammock"),
        ("My wazzle is on the bed, bring it to me.", "wazzle"),
        ("Put the vase on the table, but not the dining table.", "the dining table"),
        ("Bring me the cup, my sister wants the plate.", "my"),
        ("Put the cups away, I don't want them on the table.", "I"),
    ],
)
def test_what_is_wished_is_not_passed_over(text: str, words: str) -> None:
    found = interpret(text)
    assert isinstance(found, NotUnderstood), found
    assert found.words == (words,)
