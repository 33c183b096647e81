"""Bodies with one hand and with two: what they hold, what they refuse, what they say of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from random_cases import random_cases
from skill_world import World

from planner.world.skill import SUCCESS_TEXT, SkillCode, SkillResult
from planner.world.vocabulary import Hand, held_things

PERSON = "agent_1"
THINGS = ("cup_0", "apple_0", "book_0")
PLACES = ("on, table_0", "on, table_1", "within, cabinet_0", "on, floor_kitchen_0")

a_thing, a_place = st.sampled_from(THINGS), st.sampled_from(PLACES)
a_call = st.one_of(
    st.builds("Pick[{}]".format, a_thing),
    st.builds("Rearrange[{}, {}, None, None]".format, a_thing, a_place),
    st.builds("Place[{}, {}, None, None]".format, a_thing, a_place),
    st.sampled_from(["Open[cabinet_0]", "Close[cabinet_0]", "Fill[cup_0]", "Pour[cup_0]"]),
)
# Mostly next to what the call is about.
a_step = st.tuples(st.sampled_from(["agent_0", PERSON]), a_thing, st.booleans(), a_call)


def fetch(world: World, thing: str, agent: str = PERSON) -> SkillResult:
    assert world.run(f"Navigate[{thing}]", agent).succeeded
    return world.run(f"Pick[{thing}]", agent)


def hands(world: World, agent: str = PERSON) -> tuple[str | None, ...]:
    return world.state.entities[agent].hands


def test_a_person_carries_two_things_and_says_in_which_hand(world: World) -> None:
    first, second = fetch(world, "cup_0"), fetch(world, "apple_0")
    assert first.text == f"{SUCCESS_TEXT} cup_0 is in the right hand."
    assert second.text == f"{SUCCESS_TEXT} apple_0 is in the left hand."
    assert second.hands == hands(world) == ("cup_0", "apple_0")
    right, left = (world.state.entities[name].pose.position_m for name in hands(world))
    assert right != left


def test_et_check_29_a_third_thing_is_refused_by_what_both_hands_hold(world: World) -> None:
    """ETPLAN-C29: GRAB needs a free hand."""
    fetch(world, "cup_0")
    fetch(world, "apple_0")
    refused = fetch(world, "book_0")
    assert refused.code is SkillCode.ALREADY_HOLDING
    loads = "cup_0 in the right hand and apple_0 in the left hand"
    assert refused.text.endswith(f"The agent is already holding {loads}.")
    assert hands(world) == ("cup_0", "apple_0")


def test_what_is_held_is_not_picked_into_the_other_hand(world: World) -> None:
    fetch(world, "cup_0")
    again = world.run("Pick[cup_0]", PERSON)
    assert again.code is SkillCode.ALREADY_HOLDING
    assert hands(world) == ("cup_0", None)


@pytest.mark.parametrize(
    ("thing", "hand", "left_over"),
    [
        ("cup_0", Hand.RIGHT, (None, "apple_0")),
        ("apple_0", Hand.LEFT, ("cup_0", None)),
    ],
)
def test_place_puts_down_the_thing_that_it_names(
    world: World, thing: str, hand: Hand, left_over: tuple[str | None, ...]
) -> None:
    fetch(world, "cup_0")
    fetch(world, "apple_0")
    world.run("Navigate[table_1]", PERSON)
    placed = world.run(f"Place[{thing}, on, table_1, None, None]", PERSON)
    assert placed.text == f"{SUCCESS_TEXT} Now the {hand} hand is free."
    assert placed.hands == hands(world) == left_over
    assert world.parent(thing) == ("table_1", "on")


def test_et_check_29_opening_needs_a_free_hand(world: World) -> None:
    """ETPLAN-C29: with one hand full it is possible, with both it is not."""
    fetch(world, "cup_0")
    world.run("Navigate[cabinet_0]", PERSON)
    assert world.run("Open[cabinet_0]", PERSON).succeeded
    assert world.run("Close[cabinet_0]", PERSON).succeeded
    fetch(world, "apple_0")
    world.run("Navigate[cabinet_0]", PERSON)
    refused = world.run("Open[cabinet_0]", PERSON)
    assert refused.code is SkillCode.ALREADY_HOLDING
    assert refused.text.endswith("cup_0 in the right hand and apple_0 in the left hand.")
    assert world.state.entities["cabinet_0"].openness == 0.0


def test_one_hand_is_not_named_and_opens_nothing_while_it_is_full(world: World) -> None:
    assert fetch(world, "cup_0", "agent_0").text == SUCCESS_TEXT
    world.run("Navigate[cabinet_0]")
    refused = world.run("Open[cabinet_0]")
    assert refused.code is SkillCode.ALREADY_HOLDING
    assert refused.text.endswith("The agent is already holding cup_0.")


def test_rearrange_opens_before_its_only_hand_is_full(world: World) -> None:
    assert world.state.entities["cabinet_0"].openness == 0.0
    assert world.run("Rearrange[cup_0, within, cabinet_0, None, None]").succeeded
    assert world.parent("cup_0") == ("cabinet_0", "within")


def test_pour_goes_from_one_hand_to_the_other(world: World) -> None:
    assert fetch(world, "cup_0").succeeded
    world.run("Navigate[sink_0]", PERSON)
    assert world.run("Fill[cup_0]", PERSON).succeeded
    assert world.run("Pour[cup_0]", PERSON).code is SkillCode.WRONG_ARGUMENTS


@pytest.mark.slow
@random_cases(5, 60, st.lists(a_step, min_size=4, max_size=12))
def test_nothing_is_lost_or_held_twice(
    make_world: Callable[[], World], steps: list[tuple[str, str, bool, str]]
) -> None:
    world = make_world()
    for agent, near, walks, call in steps:
        if walks:
            world.run(f"Navigate[{near}]", agent)
        result = world.run(call, agent)
        entities = world.state.entities
        held = Counter(name for e in entities.values() for name in held_things(e.hands))
        assert set(held.values()) <= {1}
        for thing in THINGS:
            parent, relation = world.parent(thing)
            assert (relation == "held") is (thing in held)
            assert relation != "held" or thing in entities[parent or ""].hands
            assert parent in entities or str(parent).startswith("floor_")
        assert result.hands == hands(world, agent)
