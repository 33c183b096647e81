"""ET-Plan-Bench's first acceptance checks, on a graph small enough to know (ETPLAN-8)."""

from __future__ import annotations

import random

import pytest

from papers.et_plan_bench.generation.categories import Category
from papers.et_plan_bench.generation.combinations import combinations
from papers.et_plan_bench.generation.house_facts import facts_of
from papers.et_plan_bench.generation.house_tasks import (
    NO_IDEAS,
    NO_RELATION,
    NO_WAY,
    HouseTasks,
    Portion,
    Row,
)
from papers.et_plan_bench.generation.idea import Phrasing
from papers.et_plan_bench.generation.plans import paper_record, plans
from planner.app.bodily_task_world import GraphTaskWorld
from planner.world.house import House

from .toy_graph import KITCHEN, toy_house

INSIDE = Row(Category.NAVIGATION_RELATION, relations=("INSIDE",))


def made(house: House, row: Row, count: int = 5) -> Portion:
    return HouseTasks(house, "none", GraphTaskWorld(), None).make(row, count, "1", set(), 0)


def in_furniture(house: House) -> list[tuple[str, str]]:
    facts = facts_of(house)
    return [
        (idea.target, idea.source.name)
        for idea in combinations(facts, Category.NAVIGATION_RELATION)
        if idea.source and idea.source.relation == "INSIDE" and idea.source.name in facts.entities
    ]


def test_only_the_apple_in_the_fridge_is_inside_of_it() -> None:
    """ETPLAN-C1."""
    assert in_furniture(toy_house()) == [("apple_5", "fridge_3")]


def test_the_text_names_both_and_the_record_has_four_parts() -> None:
    """ETPLAN-C2."""
    house = toy_house()
    facts = facts_of(house)
    [idea] = [
        idea
        for idea in combinations(facts, Category.NAVIGATION_RELATION)
        if idea.source and idea.source.name == "fridge_3" and idea.source.relation == "INSIDE"
    ]
    text = Phrasing(facts).text(idea, random.Random(1))
    assert "apple" in text
    assert "fridge" in text
    portion = made(house, INSIDE)
    records = [paper_record(episode, facts, 3) for episode in portion.episodes]
    assert records
    for record in records:
        assert record["task"]
        assert record["success"] == [["CLOSE", "robot", "A"]]
        assert record["environment"]
        assert record["gt"]


def test_the_true_plan_opens_the_fridge_and_can_be_done() -> None:
    """ETPLAN-C3."""
    facts = facts_of(toy_house())
    [idea] = [idea for idea in combinations(facts, Category.NAVIGATION) if idea.target == "apple_5"]
    walk = ("Navigate[kitchen_1]", "Navigate[fridge_3]", "Open[fridge_3]", "Navigate[apple_5]")
    assert plans(facts, idea, "livingroom_2") == (walk,)
    assert plans(facts, idea, f"kitchen_{KITCHEN}") == (walk[1:],)
    portion = made(facts.house, INSIDE, 3)
    opened = [e for e in portion.episodes if "Open[fridge_3]" in e.criteria.reference_calls]  # type: ignore[union-attr]
    assert opened


def test_what_no_door_leads_to_is_no_task() -> None:
    """ETPLAN-C4: kept are only those whose start is in the kitchen as well."""
    portion = made(toy_house(door=False), Row(Category.NAVIGATION), 20)
    for episode in portion.episodes:
        start = episode.agents[0].start
        assert start is not None
        assert abs(start[0]) < 3.0, "an apple was reached from a room without a door to it"
    assert portion.rejected[NO_WAY]


def test_a_desk_is_not_carried() -> None:
    """ETPLAN-C5."""
    desk = {
        "id": 20,
        "class_name": "desk",
        "category": "",
        "properties": ["SURFACES"],
        "in": KITCHEN,
        "bounding_box": {"center": [0, 0.4, 2], "size": [1, 0.8, 1]},
    }
    facts = facts_of(toy_house(desk))
    ideas = [idea for category in Category for idea in combinations(facts, category)]
    assert any(idea.target == "desk_20" for idea in ideas)
    assert not any(idea.target == "desk_20" and idea.place for idea in ideas)


@pytest.mark.parametrize("category", [Category.TEMPORAL, Category.TWO_OBJECTS])
def test_a_template_that_fits_nothing_is_counted(category: Category) -> None:
    portion = made(toy_house(), Row(category))
    assert not portion.episodes
    assert portion.rejected == {NO_IDEAS: 1}


def test_a_relation_that_no_thing_has_is_counted() -> None:
    portion = made(toy_house(), Row(Category.NAVIGATION_RELATION, relations=("FACING",)))
    assert portion.rejected == {NO_RELATION: 1}


def test_a_house_without_the_room_is_counted() -> None:
    portion = made(toy_house(), Row(Category.NAVIGATION, rooms=("garage",)))
    assert portion.rejected == {"the house has no such room": 1}


def test_what_a_world_lacks_is_counted_and_the_rest_made() -> None:
    world = GraphTaskWorld()
    world.lacks["INSIDE"] = "this world has nothing inside of anything"
    tasks = HouseTasks(toy_house(), "none", world, None)
    portion = tasks.make(Row(Category.NAVIGATION_RELATION), 20, "1", set(), 0)
    assert portion.rejected["this world has nothing inside of anything"]
    assert {e.criteria.intermediate[0][0] for e in portion.episodes if e.criteria} == {"ON"}


def test_unknown_classes_are_looked_for_and_not_carried() -> None:
    gizmo = {
        "id": 21,
        "class_name": "gizmo",
        "category": "",
        "properties": ["GRABBABLE"],
        "on": 4,
        "bounding_box": {"center": [2, 1, -2], "size": [0.1, 0.1, 0.1]},
    }
    counter = {
        "id": 22,
        "class_name": "kitchencounter",
        "category": "",
        "properties": ["SURFACES"],
        "in": KITCHEN,
        "bounding_box": {"center": [0, 0.4, 2], "size": [2, 0.8, 0.6]},
    }
    facts = facts_of(toy_house(gizmo, counter))
    assert facts.entities["gizmo_21"].known == ""
    targets = {idea.target for idea in combinations(facts, Category.NAVIGATION)}
    assert "gizmo_21" in targets
    carried = {idea.target for idea in combinations(facts, Category.MANIPULATION)}
    assert "apple_5" in carried
    assert "gizmo_21" not in carried
