"""The second reading: what it asks about, and what it leaves alone."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from goal_mutations import mutated

from planner.language.cross_reading.contradictions import contradictions
from planner.language.cross_reading.findings import Subject
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret, spelled
from planner.language.reading import Ask, read_instructions

FOLDER = Path(__file__).parents[3] / "data" / "everyday"
FILES = ("known", "held_out", "blind", "blind_2", "blind_3", "blind_4", "blind_5", "set_aside")


def subjects(text: str, goal: str) -> set[Subject]:
    found = contradictions(text, Goal.model_validate(yaml.safe_load(goal)), spelled(text))
    return {item.subject for item in found}


@pytest.mark.parametrize(
    ("text", "goal", "subject"),
    [
        # Amounts
        ("Put any one of the bowls on the desk.",
         "[{move: {all: bowl}, to: {on_top: {the: desk}}}]", Subject.AMOUNT),
        ("Whichever plates are dirty, put them in the sink.",
         "[{move: {the: plate, is: dirty}, to: {in: {the: sink}}}]", Subject.AMOUNT),
        ("Put three forks on the table.",
         "[{move: {a: fork, n: 2}, to: {on_top: {the: table}}}]", Subject.AMOUNT),
        ("There is a kettle on the stove; bring it to the table.",
         "[{move: {a: kettle, on_top: {the: stove}}, to: {at: {the: table}}}]", Subject.AMOUNT),
        # Things and looks
        ("Clean the dog's bowl.", "[{make: {the: bowl}, be: clean}]", Subject.THING),
        ("Put the cup and the plate in the sink.",
         "[{move: {the: cup}, to: {in: {the: sink}}}]", Subject.THING),
        ("Put the red cup on the table.",
         "[{move: {the: cup}, to: {on_top: {the: table, color: red}}}]", Subject.LOOK),
        ("The kids left toys on the floor, put them in the box.",
         "[{move: {all: toy, pick: leftmost, on_top: {the: floor}}, to: {in: {the: box}}}]",
         Subject.LOOK),
        # Places
        ("Put the lamp on the table.",
         "[{move: {the: table}, to: {on_top: {the: lamp}}}]", Subject.PLACE),
        ("Put the ball under the table.",
         "[{move: {the: ball}, to: {on_top: {the: table}}}]", Subject.PLACE),
        ("There are toys all over the bedroom. Put them in the box.",
         "[{move: {all: toy, on_top: {the: bedroom}}, to: {in: {the: box}}}]", Subject.PLACE),
        ("One of the balls goes to the garage, and the other one goes under my bed.",
         ("[{move: {a: ball, as: x}, to: {in: {the: garage}}}, {move: {the: ball, other_than: x}, "
         "to: {under: {the: bed, in: {the: garage}}}}]"), Subject.ATTACHMENT),
        ("Switch off all the lights apart from the desk lamp in the study.",
         "[{make: {all: light, except: {the: desk lamp}, in: {the: study}}, be: powered off}]",
         Subject.ATTACHMENT),
        # States
        ("Switch off the radio.", "[{make: {the: radio}, be: powered on}]", Subject.STATE),
        ("Lights out in the hall!",
         "[{move: {all: light}, to: {in: {the: hall}}}]", Subject.STATE),
        # Order
        ("Bring me the cup, then the plate.",
         "[{move: [{the: cup}, {the: plate}], to: me}]", Subject.ORDER),
        ("Close the fridge last. First bring me the milk.",
         "[{make: {the: fridge}, be: closed}, then, {move: {the: milk}, to: me}]", Subject.ORDER),
        ("Wash the pan before you wipe the table.",
         "[{make: {the: table}, be: clean}, then, {make: {the: pan}, be: clean}]", Subject.ORDER),
        # Who, whether, and what not
        ("I'll wash the pan, you wipe the table.",
         "[{make: [{the: pan}, {the: table}], be: clean}]", Subject.ACTOR),
        ("Bring the cup, and if you see the plate, that too.",
         "[{move: {the: cup}, to: me, only_if: [{the: plate}, {the: cup}]}]", Subject.CONDITION),
        ("Wash all the cups except the mug.", "[{make: {all: cup}, be: clean}]", Subject.EXCEPTION),
        ("Never bring the knives or the scissors to the bedroom.",
         "[{never: {one_of: [{all: knife}, {the: scissors}]}, to: {in: {the: bedroom}}}]",
         Subject.ALTERNATIVE),
        ("Dinner for two: please set the kitchen table.",
         "[{prepare: set_table, at: {the: table, in: {the: kitchen}}}]", Subject.OCCASION),
        # Requests that do not go together
        ("The cereal lives in the pantry, so put it there.",
         ("[{move: {the: cereal}, to: {in: {the: pantry}}}, then,"
         " {move: {the: cereal}, to: {in: {the: pantry}}}]"), Subject.CONSISTENCY),
        ("There should be a pot in the kitchen. I need it on the stove.",
         ("[{move: {the: pot}, to: {in: {the: kitchen}}}, then,"
         " {move: {the: pot}, to: {on_top: {the: stove}}}]"), Subject.CONSISTENCY),
    ],
)  # fmt: skip
def test_a_wrong_goal_is_contradicted(text: str, goal: str, subject: Subject) -> None:
    assert subject in subjects(text, goal)


def test_what_is_asked_names_words_of_the_text() -> None:
    for name in ("known", "blind"):
        for entry in read_instructions(FOLDER / f"{name}.yaml"):
            for _, goal in mutated(entry.goal) if entry.goal else ():
                for item in contradictions(entry.text, goal, spelled(entry.text)):
                    assert item.words
                    assert all(words in entry.text for words in item.words)


@pytest.mark.slow
def test_hardly_any_right_goal_is_contradicted() -> None:
    right, asked = 0, []
    for name in FILES:
        for entry in read_instructions(FOLDER / f"{name}.yaml"):
            if entry.goal is not None:
                right += 1
                if contradictions(entry.text, entry.goal, spelled(entry.text)):
                    asked.append(entry.text)
    assert len(asked) <= 0.01 * right, asked


def test_most_goals_with_one_mistake_are_contradicted() -> None:
    entries = [e for name in FILES for e in read_instructions(FOLDER / f"{name}.yaml") if e.goal]
    made: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    for entry in random.Random(22).sample(entries, 150):
        for name, goal in mutated(entry.goal) if entry.goal else ():
            made[name] += 1
            noticed[name] += bool(contradictions(entry.text, goal, spelled(entry.text)))
    assert noticed.total() >= 0.65 * made.total(), (noticed, made)
    assert all(noticed[name] >= 0.3 * count for name, count in made.items()), (noticed, made)


def test_the_reader_asks_where_both_readings_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Put the cup in the sink."
    wrong = Goal.model_validate(yaml.safe_load("[{move: {the: cup}, to: {under: {the: sink}}}]"))
    monkeypatch.setattr("planner.language.interpretation.interpret_alone", lambda _: wrong)
    found = interpret(text)
    assert isinstance(found, Ask)
    assert found.words == ("in the sink",)


def test_sixty_words_take_little_beside_their_reading() -> None:
    text = (
        "Tonight is game night, so could you first carry the board game and the playing cards from "
        "the playroom to the dining table, next bring four glasses and the juice from the kitchen "
        "and put them there as well, and then, at the very end, please switch off the television "
        "and all of the lamps in the living room and close the fridge?"
    )
    goal = interpret(text)
    assert isinstance(goal, Goal)
    tokens = spelled(text)
    begin = time.process_time()
    for _ in range(20):
        contradictions(text, goal, tokens)
    assert (time.process_time() - begin) / 20 < 0.01
