"""The checklist that follows from a goal (LLAMAR-D45)."""

from __future__ import annotations

import pytest

from papers.llamar.tasks import with_own_checklist
from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Recipe
from planner.houses.generator import generate_house
from planner.world.episode import Episode
from planner.world.errors import PlannerError


@pytest.fixture(scope="module")
def kitchen():
    return generate_house(
        "lab", 7300, rooms={"kitchen": 1}, required={"kitchen_0": {"counter": 2}}, objects=0
    )


@pytest.fixture
def checklist(kitchen):
    def make(**recipe):
        base = {"name": "lab_task", "house": "lab", "instruction": "Do what is to be done."}
        episode = build(Recipe.model_validate({**base, **recipe}), kitchen).episode
        found = with_own_checklist(episode, kitchen, 2).checklist
        assert found is not None
        return found

    return make


def on_counter(class_name: str, **more: object) -> dict[str, object]:
    return {"class_name": class_name, "on_top": "counter", **more}


FRIDGE = {"fridge": {"furniture": "fridge"}}


def test_llamar_check_37_the_fridge_task_has_fourteen_items(checklist) -> None:
    foods = {name: on_counter(name) for name in ("bread", "lettuce", "tomato")}
    inside = {"predicate": "is_inside", "things": list(foods), "at": ["fridge"]}
    shut = {"predicate": "is_closed", "things": ["fridge"]}
    found = checklist(things=foods, places=FRIDGE, steps=[[inside], [shut]])
    assert set(found.subtasks) == {
        *(f"NavigateTo({food}_0)" for food in foods),
        *(f"PickupObject({food}_0)" for food in foods),
        *(f"NavigateTo(fridge_0, {food}_0)" for food in foods),
        *(f"PutObject(fridge_0, {food}_0)" for food in foods),
        "OpenObject(fridge_0)",
        "CloseObject(fridge_0)",
    }
    assert len(found.subtasks) == 14
    assert set(found.targets) == {("bread_0",), ("lettuce_0",), ("tomato_0",), ("fridge_0",)}


def test_things_are_expanded_by_instance_and_places_are_alternatives(checklist) -> None:
    found = checklist(
        things={"cups": {"class_name": "cup", "count": 2, "on_top": "table"}},
        places={"counters": {"furniture": "counter"}},
        goal=[{"predicate": "is_on_top", "things": ["cups"], "at": ["counters"]}],
    )
    assert "PutObject(counter_0|counter_1, cup_0)" in found.subtasks
    assert "PutObject(counter_0|counter_1, cup_1)" in found.subtasks
    assert not any(text.startswith("Open") for text in found.subtasks)
    assert ("counter_0", "counter_1") in found.targets


def test_what_a_thing_is_shut_in_has_to_be_opened(checklist) -> None:
    found = checklist(
        things={"milk": {"class_name": "milk_carton", "inside": "fridge"}},
        places={"table": {"furniture": "table"}},
        goal=[{"predicate": "is_on_top", "things": ["milk"], "at": ["table"]}],
    )
    assert found.subtasks[0] == "OpenObject(fridge_0)"


def test_states_are_the_way_and_the_act_with_the_tool(checklist) -> None:
    found = checklist(
        things={
            "carrot": on_counter("carrot"),
            "cup": on_counter("cup", states={"clean": False}),
            "knife": on_counter("knife"),
        },
        places={"oven": {"furniture": "oven", "states": {"powered_on": True}}},
        goal=[
            {"predicate": "is_sliced", "things": ["carrot"]},
            {"predicate": "is_clean", "things": ["cup"]},
            {"predicate": "is_powered_off", "things": ["oven"]},
        ],
    )
    assert found.subtasks == (
        "NavigateTo(knife_0)", "PickupObject(knife_0)",
        "NavigateTo(carrot_0)", "SliceObject(carrot_0)",
        "NavigateTo(cup_0)", "CleanObject(cup_0)",
        "NavigateTo(oven_0)", "ToggleObjectOff(oven_0)",
    )  # fmt: skip
    assert set(found.targets) == {("knife_0",), ("carrot_0",), ("cup_0",), ("oven_0",)}


def test_what_is_so_already_is_no_subtask(checklist) -> None:
    found = checklist(
        things={
            "one": on_counter("cup", states={"clean": False}),
            "other": {"class_name": "cup", "on_top": "table"},
        },
        goal=[{"predicate": "is_clean", "things": ["one", "other"]}],
    )
    assert found.subtasks == ("NavigateTo(cup_0)", "CleanObject(cup_0)")


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ({"predicate": "is_clean", "things": ["cups"], "number": 1}, "any of several would do"),
        ({"predicate": "is_filled", "things": ["cups"]}, "no act of LLaMAR brings about is_filled"),
        ({"predicate": "is_next_to", "things": ["cups"], "at": ["jar"]}, "is_next_to"),
    ],
)
def test_what_llamars_acts_cannot_say_is_refused(checklist, goal, reason) -> None:
    cups = on_counter("cup", count=2, states={"clean": False})
    with pytest.raises(PlannerError, match=reason):
        checklist(things={"cups": cups, "jar": on_counter("jar")}, goal=[goal])


def test_an_episode_without_a_goal_has_none(kitchen) -> None:
    agents = [{"uid": "agent_0", "kind": "robot"}]
    bare = Episode.model_validate(
        {"version": 1, "episode_id": "e", "house": "lab", "instruction": "x", "agents": agents}
    )
    with pytest.raises(PlannerError, match="needs an evaluation"):
        with_own_checklist(bare, kitchen, 1)
