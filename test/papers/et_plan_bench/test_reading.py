"""Reading tasks by rules, without a model (ETPLAN-2.4)."""

from __future__ import annotations

import random

import pytest

from papers.et_plan_bench.generation.categories import Category, home_named
from papers.et_plan_bench.generation.combinations import combinations
from papers.et_plan_bench.generation.house_facts import facts_of
from papers.et_plan_bench.generation.idea import Idea, NoNameError, Phrasing
from papers.et_plan_bench.model_ranker import EXAMPLES
from papers.et_plan_bench.parts import TaskClass
from papers.et_plan_bench.questions import errands_text
from papers.et_plan_bench.rankers import class_of
from planner.planning.errands import is_meant, only_sought, read_errands

NAVIGATION, RELATED = TaskClass.NAVIGATION, TaskClass.NAVIGATION_RELATION


@pytest.mark.parametrize(
    ("text", "task_class", "parts"),
    [
        ("Can you close the curtains?", NAVIGATION, "find: curtains"),
        ("Give me an apple in the fridge.", RELATED, "find: apple, inside fridge"),
        ("Where is the toilet?", NAVIGATION, "find: toilet"),
        ("Where is the watering can? Please go there.", NAVIGATION, "find: watering can"),
        ("Can you find a can?", NAVIGATION, "find: can"),
        (
            "Please look for the mantel clock on a shelf and stop next to it.",
            RELATED,
            "find: mantel clock, on shelf",
        ),
        (
            "Where is a wallet on a table? Please go there.",
            RELATED,
            "find: wallet, on table",
        ),
        (
            "Locate the sock that is in the bedroom and go there.",
            RELATED,
            "find: sock, inside bedroom",
        ),
        (
            "Look for the scarf inside a chest of drawers, pick it up, and put it onto the bed.",
            TaskClass.PLACE_RELATION,
            "move: scarf, inside chest of drawers -> on bed",
        ),
        (
            "Look for the deck of cards in the playroom, pick it up, and put it into a toy box.",
            TaskClass.PLACE_RELATION,
            "move: deck of cards, inside playroom -> inside toy box",
        ),
        ("Could you find the washingsponge?", NAVIGATION, "find: washingsponge"),
        ("Find the pie facing the TV.", RELATED, "find: pie, facing tv"),
        (
            "Find the dishwashing liquid on the kitchencabinet.",
            RELATED,
            "find: dishwashing liquid, on cabinet, inside kitchen",
        ),
        (
            "Find an apple close to a cup and put it in a fridge in a kitchen.",
            TaskClass.PLACE_RELATION,
            "move: apple, close to cup -> inside fridge, inside kitchen",
        ),
        (
            "Find the dish bowl next to the kitchencabinet and put it on the bathroomcounter.",
            TaskClass.PLACE_RELATION,
            "move: dish bowl, close to kitchencabinet -> on bathroomcounter",
        ),
        (
            "Put the toothbrush and the toothpaste on the desk.",
            TaskClass.PLACE_TWO,
            "move: toothbrush -> on desk\nmove: toothpaste -> on desk",
        ),
        (
            "Put the milk into the cup, then put the cup into the microwave.",
            TaskClass.NEST_AND_PLACE,
            "move: milk -> inside cup\nmove: cup -> inside microwave",
        ),
        (
            "Put milk into the dishbowl, and then place it in the fridge.",
            TaskClass.NEST_AND_PLACE,
            "move: milk -> inside dishbowl\nmove: dishbowl -> inside fridge",
        ),
    ],
)
def test_check_15_examples_are_read(text: str, task_class: TaskClass, parts: str) -> None:
    """ETPLAN-C15."""
    found = read_errands(text)
    assert class_of(found) is task_class
    assert errands_text(found) == parts


@pytest.mark.parametrize(
    "said",
    [
        "First put the spoon on the tray. Then place the tray, with what is on it, onto a table.",
        "Put the spoon on the tray, then put the tray, with what's on it, on a table.",
        "Put the spoon on the tray, then put the tray and everything on it on a table.",
        "Put the spoon on the tray. Then put the tray together with its contents on a table.",
    ],
)
def test_what_lies_on_a_thing_is_not_sought_as_another_thing(said: str) -> None:
    found = read_errands(said)
    assert class_of(found) is TaskClass.NEST_AND_PLACE
    assert errands_text(found) == "move: spoon -> on tray\nmove: tray -> on table"


def things_of(idea: Idea) -> list[str]:
    """What the words of an idea say is to be found or moved, in order."""
    moved = [idea.target, *([idea.second] if idea.second else [])]
    return [*moved, *([idea.nest.name] if idea.nest else [])]


@pytest.mark.parametrize("category", list(Category))
def test_every_sentence_of_the_generator_is_read_as_its_idea(category: Category) -> None:
    """ETPLAN-2.1: a task whose words its own agent misreads would be lost for no reason."""
    facts = facts_of(home_named("et_test_7").make())
    phrasing, rng = Phrasing(facts), random.Random(7)
    ideas = [idea for idea in combinations(facts, category) if _has_names(phrasing, idea)]
    texts = {phrasing.text(idea, rng): idea for idea in rng.choices(ideas, k=40)}
    for text, idea in texts.items():
        errands = read_errands(text)
        names = things_of(idea)
        assert len(errands) == len(names), text
        for name, errand in zip(names, errands, strict=True):
            assert is_meant(facts.class_of(name), errand.target.word), text
        place = errands[-1].place
        assert (place is not None) is (idea.place is not None), text
        if place is not None and idea.place is not None:
            assert is_meant(facts.class_of(idea.place.name), place.word), text


def _has_names(phrasing: Phrasing, idea: Idea) -> bool:
    try:
        phrasing.text(idea, random.Random(1))
    except NoNameError:
        return False
    return True


def test_what_names_nothing_is_not_understood() -> None:
    assert read_errands("Colourless green ideas.") == ()


def test_the_prompt_shows_thirteen_examples_of_all_classes() -> None:
    assert len(EXAMPLES) == 13
    assert {task_class for _, task_class in EXAMPLES} == set(TaskClass)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Please find a mug near the sink.", "mug"),
        ("Put the mug on the table.", None),
        ("Find the mug and then find the plate.", None),
        ("Abracadabra.", None),
    ],
)
def test_a_task_may_only_ask_to_find_one_thing(text: str, word: str | None) -> None:
    sought = only_sought(text)
    assert (None if sought is None else sought.word) == word
