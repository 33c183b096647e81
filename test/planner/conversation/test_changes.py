"""What corrections, additions and repetitions make of a goal, in words."""

from __future__ import annotations

import pytest

from planner.conversation.afterwards import added, joined, repeated
from planner.conversation.changes import Changed, Doubt, changed, text_of
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret

TWO = "Put the cup in the sink and the plate on the table."
BOTH = "Put the plates and the cups in the dishwasher."


def goal_of(text: str) -> Goal:
    goal = interpret(text)
    assert isinstance(goal, Goal), goal
    return goal


@pytest.mark.parametrize(
    ("task", "said", "becomes"),
    [
        ("Put the red cup in the sink.", "no, the blue one", "Put the blue cup in the sink."),
        ("Put the red cup in the sink and the plate on the table.", "No, the blue cup!",
         "Put the blue cup in the sink and put the plate on the table."),
        ("Put the red cup in the sink and the plate on the table.", "the blue one",
         "Put the blue cup in the sink and put the plate on the table."),
        ("Bring the cup to the kitchen.", "not the kitchen, the office",
         "Put the cup in the office."),
        ("Bring the cup to the kitchen.", "no, to the office", "Put the cup in the office."),
        ("Bring the cup to the kitchen.", "the office, not the kitchen",
         "Put the cup in the office."),
        (BOTH, "leave the plates", "Put all cups in the dishwasher."),
        (BOTH, "not the plates", "Put all cups in the dishwasher."),
        (BOTH, "only the cups", "Put all cups in the dishwasher."),
        ("Put the cup in the sink.", "I meant the bowl", "Put the bowl in the sink."),
        ("Bring me two cups.", "make it three", "Bring 3 cups to you."),
        ("Bring me two cups.", "no, three cups", "Bring 3 cups to you."),
        ("Put two cups in the basket.", "just one", "Put a cup in the basket."),
        ("Put all toys in the box.", "leave the ball", "Put all toys except the ball in the box."),
        ("Put everything on the desk in the box.", "not the books",
         "Put all things that are on the desk except all books in the box."),
        ("Put the cup on the table.", "no, put it on the shelf", "Put the cup on the shelf."),
        ("Put the cup on the table in the kitchen.", "no, the one in the living room",
         "Put the cup on the table in the living room."),
        ("Put the cup on the table in the kitchen.", "no, in the living room",
         "Put the cup on the table in the living room."),
        ("Switch on the lamp in the bedroom.", "no, the one in the office",
         "Switch on the lamp in the office."),
        ("Switch on the lamp in the bedroom.", "no, in the office",
         "Switch on the lamp in the office."),
        ("Switch on the lamp.", "no, switch it off", "Switch off the lamp."),
        (TWO, "no, put the plate on the shelf",
         "Put the cup in the sink and put the plate on the shelf."),
        ("Put the cup in the sink.", "take the bowl instead of the cup",
         "Put the bowl in the sink."),
        ("Bring the cup from the table to the kitchen.", "no, from the shelf",
         "Put the cup that is at the shelf in the kitchen."),
        ("Put the cups in the sink.", "leave the red ones",
         "Put all cups except all red cups in the sink."),
        ("Clear the table.", "leave the plates",
         "Put all things that are on the table except all plates somewhere else."),
        ("Put the plates in the sink.", "the plates can stay there", None),
        ("Put the book on the table, then bring me the cup.", "no, the blue book",
         "Put the blue book on the table, then bring the cup to you."),
        ("Close the fridge.", "no, the cabinet", "Close the cabinet."),
        ("Put the ball in the box and the book on the shelf.", "skip the book",
         "Put the ball in the box."),
        ("Put the ball in the box.", "no, wash it", "Clean the ball."),
    ],
)  # fmt: skip
def test_a_correction_changes_what_it_is_about(task: str, said: str, becomes: str | None) -> None:
    found = changed(goal_of(task), said)
    assert isinstance(found, Changed), found
    assert (text_of(found.goal) if found.goal is not None else None) == becomes
    assert not found.other


@pytest.mark.parametrize(
    ("task", "said", "kinds"),
    [
        (TWO, "no, the blue one", ("cup", "plate")),
        ("Put the cup next to the lamp.", "no, the book", ("cup", "lamp")),
    ],
)
def test_what_may_mean_several_things_is_asked(
    task: str, said: str, kinds: tuple[str, ...]
) -> None:
    found = changed(goal_of(task), said)
    assert isinstance(found, Doubt)
    assert all(kind in found.question for kind in kinds)


def test_what_the_agents_are_at_is_rather_meant() -> None:
    found = changed(goal_of(TWO), "no, the blue one", focus={"plate"})
    assert isinstance(found, Changed)
    assert found.goal is not None
    assert "blue plate" in text_of(found.goal)


@pytest.mark.parametrize("said", ["no, the other one", "the other cup", "another one"])
def test_another_of_the_same_keeps_the_words(said: str) -> None:
    goal = goal_of("Put the cup in the sink.")
    found = changed(goal, said)
    assert found == Changed(goal, "the cup")


@pytest.mark.parametrize("said", ["no", "no, the flumbox", "it is raining", "sing", "no, the day"])
def test_what_is_no_correction_is_none(said: str) -> None:
    assert changed(goal_of(TWO), said) is None


@pytest.mark.parametrize(
    ("task", "said", "more"),
    [
        ("Put the cup in the sink.", "the bowl", "Put the bowl in the sink."),
        ("Put the cup in the sink.", "bring me the red book", "Bring the red book to you."),
        ("Put the cup in the sink.", "bring the plate", "Put the plate in the sink."),
        ("Put the cup in the sink.", "wash it", "Clean the cup."),
        ("Put the red ball in the box.", "the blue one", "Put the blue ball in the box."),
        ("Switch off the lamp in the kitchen.", "in the bathroom",
         "Switch off the lamp in the bathroom."),
        ("Switch off the lamp in the kitchen.", "the one in the office",
         "Switch off the lamp in the office."),
    ],
)  # fmt: skip
def test_an_addition_takes_over_what_it_does_not_say(task: str, said: str, more: str) -> None:
    goal = goal_of(task)
    found = added(goal, said)
    assert isinstance(found, Goal)
    assert text_of(found) == more
    both = joined(goal, found)
    assert both is not None
    assert both.requests == (*goal.requests, *found.requests)


def test_an_addition_to_two_requests_is_asked_about() -> None:
    found = added(goal_of(TWO), "the bowl")
    assert isinstance(found, Doubt)
    assert "in the sink" in found.question
    assert "on the table" in found.question


@pytest.mark.parametrize(
    ("task", "said", "again"),
    [
        ("Wash the cups in the kitchen.", "the same in the bathroom",
         "Clean all cups in the bathroom."),
        ("Put the cup in the sink.", "the same with the bowl", "Put the bowl in the sink."),
        ("Put all toys in the box.", "and the same for the books", "Put all books in the box."),
        ("Switch off all lamps.", "the same in the bathroom",
         "Switch off all lamps in the bathroom."),
        ("Put the cup on the table.", "do it again", "Put the cup on the table."),
    ],
)  # fmt: skip
def test_the_same_again(task: str, said: str, again: str) -> None:
    found = repeated(goal_of(task), said)
    assert isinstance(found, Goal)
    assert text_of(found) == again
