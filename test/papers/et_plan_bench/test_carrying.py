"""Bringing things (ETPLAN-2.3, Algorithm 3): memory, hands, orders."""

from __future__ import annotations

import pytest
from et_toys import Told, Toy, play

from papers.et_plan_bench.agent import AgentOptions, Order, shortest
from planner.world.episode import Criteria
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.vocabulary import Relation
from sim_bridge.graph import routines
from sim_bridge.graph.world import GraphWorld


def rooms_asked(ranker: Told) -> int:
    return [what for what, _ in ranker.asked].count("rooms")


def test_check_27_a_place_that_was_seen_is_walked_to_without_a_question() -> None:
    """ETPLAN-C27."""
    toy = Toy("livingroom", "kitchen")
    table = toy.piece("table", "kitchen_2", (2.0, 0.0))
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_2", (-2.0, 0.0)))
    ranker = Told(rooms=["kitchen_2"])
    played = play(toy, "Put the apple on the table.", ranker)
    assert played.actions == (
        "Navigate[kitchen_2]",
        f"Navigate[{apple}]",
        f"Pick[{apple}]",
        f"Navigate[{table}]",
        f"Place[{apple}, on, {table}, None, None]",
    )
    assert rooms_asked(ranker) == 1


def test_check_28_a_place_that_was_not_seen_is_searched_for() -> None:
    """ETPLAN-C28: rooms are ranked again, and what was seen counts as in view."""
    toy = Toy("livingroom", "kitchen", "bedroom")
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_2", (-2.0, 0.0)))
    desk = toy.piece("desk", "bedroom_3", (2.0, 0.0))
    ranker = Told(rooms=["kitchen_2", "bedroom_3"])
    played = play(toy, "Put the apple on the desk.", ranker)
    assert rooms_asked(ranker) == 2
    assert ("objects", ("bench",)) in ranker.asked
    assert played.actions[-2:] == (
        f"Navigate[{desk}]",
        f"Place[{apple}, on, {desk}, None, None]",
    )


def test_check_29_full_hands_neither_grab_nor_open() -> None:
    """ETPLAN-C29: a closed place nobody knew of is opened only after the thing is put down."""
    toy = Toy("livingroom", "kitchen", "bedroom")
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_2", (-2.0, 0.0)))
    box = toy.piece("closet", "bedroom_3", (2.0, 0.0), closed=True)
    played = play(toy, "Put the apple into the closet.", Told(rooms=["kitchen_2", "bedroom_3"]))
    down, opened, again = (
        played.actions.index(action)
        for action in (
            f"Place[{apple}, on, floor_bedroom_3, None, None]",
            f"Open[{box}]",
            f"Place[{apple}, within, {box}, None, None]",
        )
    )
    assert down < opened < again
    assert not played.failed


def test_with_one_hand_a_known_closed_place_is_opened_first() -> None:
    toy = Toy("kitchen")
    fridge = toy.piece("fridge", "kitchen_1", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "ON", toy.piece("table", "kitchen_1", (2.0, 0.0)))
    played = play(toy, "Put the apple into the fridge.", Told())
    assert played.actions[-6:] == (
        f"Navigate[{fridge}]",
        f"Open[{fridge}]",
        f"Navigate[{apple}]",
        f"Pick[{apple}]",
        f"Navigate[{fridge}]",
        f"Place[{apple}, within, {fridge}, None, None]",
    )


def two(place: str, *, closed: bool | None) -> tuple[Toy, str, str, str]:
    toy = Toy("kitchen")
    target = toy.piece(place, "kitchen_1", (-2.0, 0.0), closed=closed)
    fork = toy.thing("fork", "ON", toy.piece("table", "kitchen_1", (2.0, 0.0)))
    knife = toy.thing("knife", "ON", toy.piece("bench", "kitchen_1", (2.0, 3.0)))
    return toy, target, fork, knife


def test_check_32_one_arm_makes_eight_subtasks_and_two_arms_six() -> None:
    """ETPLAN-C32: with two, both are put at the end."""
    toy, desk, fork, knife = two("desk", closed=None)
    text = "Put the fork and the knife on the desk."
    single = play(toy, text, Told(), hands=2, options=AgentOptions(two_arms=False))
    puts = tuple(f"Place[{thing}, on, {desk}, None, None]" for thing in (fork, knife))
    walks = [action for action in single.actions if action != "Navigate[kitchen_1]"]
    assert walks == [
        f"Navigate[{fork}]",
        f"Pick[{fork}]",
        f"Navigate[{desk}]",
        puts[0],
        f"Navigate[{knife}]",
        f"Pick[{knife}]",
        f"Navigate[{desk}]",
        puts[1],
    ]
    both = play(toy, text, Told(), hands=2)
    assert [action for action in both.actions if action != "Navigate[kitchen_1]"] == [
        f"Navigate[{fork}]",
        f"Pick[{fork}]",
        f"Navigate[{knife}]",
        f"Pick[{knife}]",
        f"Navigate[{desk}]",
        *puts,
    ]
    assert single.result.evidence["order"] == Order.ONE_ARM
    assert both.result.evidence["order"] == Order.TWO_ARMS


def test_check_30_nothing_is_opened_with_two_full_hands() -> None:
    """ETPLAN-C30."""
    toy, box, fork, knife = two("dishwasher", closed=True)
    played = play(toy, "Put the fork and the knife into the dishwasher.", Told(), hands=2)
    opened = played.actions.index(f"Open[{box}]")
    grabs = [played.actions.index(f"Pick[{thing}]") for thing in (fork, knife)]
    down = f"Place[{fork}, on, floor_kitchen_1, None, None]"
    assert opened < max(grabs) or played.actions.index(down) < opened
    assert not played.failed
    assert f"Place[{knife}, within, {box}, None, None]" in played.actions
    assert f"Place[{fork}, within, {box}, None, None]" in played.actions


def test_check_31_the_shortest_walk_is_chosen() -> None:
    """ETPLAN-C31."""
    assert shortest({Order.ONE_ARM: 50.4, Order.TWO_ARMS: 38.3}) is Order.TWO_ARMS
    assert shortest({Order.ONE_ARM: 50.4, Order.TWO_ARMS: None}) is Order.ONE_ARM
    with pytest.raises(PlannerError, match="no order is possible"):
        shortest({Order.TWO_ARMS: None})


def test_one_thing_goes_into_another_and_both_to_a_place() -> None:
    toy = Toy("kitchen")
    desk = toy.piece("desk", "kitchen_1", (-2.0, 0.0))
    table = toy.piece("table", "kitchen_1", (2.0, 0.0))
    mug = toy.thing("mug", "ON", table, hollow=True)
    plum = toy.thing("plum", "ON", table)
    goal = Criteria.model_validate(
        {
            "variables": {"a": (plum,), "b": (mug,), "c": (desk,)},
            "intermediate": [
                ("CLOSE", "robot", "a"),
                ("CLOSE", "robot", "b"),
                ("INSIDE", "a", "b"),
            ],
            "success": [("CLOSE", "robot", "c"), ("ON", "b", "c"), ("INSIDE", "a", "b")],
        }
    )
    played = play(
        toy, "Put the plum into the mug, then put the mug on the desk.", Told(), criteria=goal
    )
    assert played.result.verdict.success
    assert played.actions[-1] == f"Place[{mug}, on, {desk}, None, None]"


def test_two_things_go_to_the_same_place_where_there_are_several() -> None:
    """One table, though another is nearer to the second thing."""
    toy = Toy("livingroom", "kitchen")
    near = toy.piece("table", "livingroom_1", (2.0, 2.0))
    apple = toy.thing("apple", "ON", toy.piece("bench", "livingroom_1", (1.0, -2.0)))
    far = toy.piece("table", "kitchen_2", (2.0, 0.0))
    plum = toy.thing("plum", "ON", toy.piece("desk", "kitchen_2", (2.0, -2.0)))
    played = play(toy, "Put the apple and the plum on a table.", Told(rooms=["kitchen_2"]))
    put = [action for action in played.actions if action.startswith("Place")]
    assert put == [
        f"Place[{apple}, on, {near}, None, None]",
        f"Place[{plum}, on, {near}, None, None]",
    ]
    assert far not in " ".join(played.actions)


def test_nothing_is_opened_to_put_a_thing_on_top_of_it() -> None:
    """A desk with a drawer: its top is free to put things on while it is closed."""
    toy = Toy("kitchen")
    desk = toy.piece("desk", "kitchen_1", (-2.0, 0.0), closed=True, top=True)
    apple = toy.thing("apple", "ON", toy.piece("table", "kitchen_1", (2.0, 0.0)))
    played = play(toy, "Put the apple on the desk.", Told(), hands=2)
    assert played.actions[-1] == f"Place[{apple}, on, {desk}, None, None]"
    assert not any(action.startswith("Open") for action in played.actions)


def fill(monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    """Leaves no room on a piece of furniture."""
    spot_at = routines.spot_at

    def none_there(
        world: GraphWorld, point_m: Vec3, relation: Relation, thing: str
    ) -> routines.Spot | None:
        spot = spot_at(world, point_m, relation, thing)
        return None if spot is not None and spot.place[1] == piece else spot

    monkeypatch.setattr(routines, "spot_at", none_there)


def test_where_a_table_has_no_room_another_one_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Toy("kitchen", "bedroom")
    full = toy.piece("table", "kitchen_1", (1.0, 0.0))
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_1", (-2.0, 0.0)))
    other = toy.piece("table", "bedroom_2", (2.0, 0.0))
    fill(monkeypatch, full)
    played = play(toy, "Put the apple on a table.", Told())
    assert [full in text for text in played.failed] == [True]
    assert played.actions[-1] == f"Place[{apple}, on, {other}, None, None]"
    assert played.result.outcome.code.name == "DONE"


def test_where_no_table_has_room_the_task_fails_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    toy = Toy("kitchen", "bedroom")
    full = toy.piece("table", "kitchen_1", (1.0, 0.0))
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_1", (-2.0, 0.0)))
    fill(monkeypatch, full)
    played = play(toy, "Put the apple on a table.", Told())
    assert played.result.outcome.text.startswith(f"{apple} could not be put at {full}: ")
    assert played.result.outcome.code.name == "GAVE_UP"
