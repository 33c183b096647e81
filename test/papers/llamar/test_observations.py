"""What an agent sees, by the memory, and the names that it gets."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from papers.llamar.prompt import (
    InstanceNames,
    compass,
    note_met,
    note_seen,
    shown_class,
    state_words,
)
from planner.planning.walking import sightline_of, visible
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.house import House
from planner.world.vocabulary import EntityKind, Relation

ROOM = "kitchen_0"


def node(
    name: str, x_m: float, y_m: float, kind: EntityKind = EntityKind.OBJECT, **more: object
) -> BeliefNode:
    made = BeliefNode(name, kind, name.rpartition("_")[0], None, (x_m, y_m, 0.8), room=ROOM)
    return replace(made, **more)  # type: ignore[arg-type]


def belief(*others: BeliefNode, heading_rad: float | None = 0.0) -> Belief:
    robot = BeliefNode(
        "agent_0",
        EntityKind.AGENT,
        "robot",
        None,
        (0.0, 0.0, 0.0),
        room=ROOM,
        hands=("cup_7",),
        heading_rad=heading_rad,
    )
    nodes = (
        robot,
        node("fridge_0", 2.0, 0.0, EntityKind.FURNITURE, openness=0.0),
        node("floor_0", 1.0, 0.0, EntityKind.FURNITURE),
        node("cup_7", 0.0, 0.0, parent="agent_0", relation=Relation.HELD),
        *others,
    )
    return Belief(0.0, 0, {each.name: each for each in nodes})


def seen(of: Belief) -> list[str]:
    return [each.name for each in visible(of, "agent_0")]


def test_through_a_door_an_agent_sees_what_cameras_have_seen() -> None:
    shown = node("apple_3", 2.0, 0.0, room="hall_0", source=Source.SEEN)
    told = node("apple_4", 2.0, 0.1, room="hall_0", source=Source.TOLD)
    behind = node("apple_5", -2.0, 0.0, room="hall_0", source=Source.SEEN)
    all_of = belief(shown, told, behind)
    shows_all = visible(all_of, "agent_0", lambda _, to_m: [True] * len(to_m))
    open_door = [each.name for each in shows_all]
    assert open_door == ["fridge_0", "apple_3"]
    assert seen(all_of) == ["fridge_0"]


def test_walls_end_a_sightline_and_doors_do_not(small_house: House) -> None:
    sees = sightline_of(small_house)
    door = next(door for door in small_house.doors if len(door.rooms) == 2)
    along = (math.cos(door.yaw_rad), math.sin(door.yaw_rad))
    across = (-along[1], along[0])

    def beside(aside_m: float, away_m: float) -> tuple[float, float, float]:
        x_m, y_m = (
            middle + aside_m * a + away_m * b
            for middle, a, b in zip(door.center_m, along, across, strict=True)
        )
        return x_m, y_m, 0.8

    aside_m = door.width_m / 2 + 0.3
    through, wall, here = beside(0.0, 0.4), beside(aside_m, 0.4), beside(0.0, -0.5)
    assert sees(beside(0.0, -0.4), [through, here]) == [True, True]
    assert sees(beside(aside_m, -0.4), [wall]) == [False]
    assert sees(here, []) == []


def test_an_agent_sees_what_is_before_it_in_its_room() -> None:
    ahead, behind = node("apple_1", 1.0, 0.3), node("apple_2", -1.0, 0.0)
    elsewhere = node("apple_3", 1.0, 0.0, room="hall_0")
    assert seen(belief(ahead, behind, elsewhere)) == ["fridge_0", "apple_1"]
    assert seen(belief(ahead, behind, heading_rad=math.pi)) == ["apple_2"]
    assert seen(belief(ahead, behind, heading_rad=None)) == ["fridge_0", "apple_1", "apple_2"]
    assert visible(belief(ahead), "agent_5") == []


def test_nothing_shows_that_is_in_something_closed() -> None:
    bowl = node("bowl_1", 2.0, 0.0, parent="fridge_0", relation=Relation.WITHIN)
    plum = node("plum_1", 2.0, 0.0, parent="bowl_1", relation=Relation.ON)
    shut = belief(bowl, plum)
    assert seen(shut) == ["fridge_0"]
    opened = replace(shut.nodes["fridge_0"], openness=1.0)
    assert seen(replace(shut, nodes={**shut.nodes, "fridge_0": opened})) == [
        "fridge_0",
        "bowl_1",
        "plum_1",
    ]


def test_what_is_in_itself_does_not_hang_the_planner() -> None:
    odd = node("box_1", 1.0, 0.0, parent="box_1", relation=Relation.ON)
    assert "box_1" in seen(belief(odd))


def test_names_are_the_teams_and_stay() -> None:
    names = InstanceNames()
    first, second = node("apple_9", 1.0, 0.0), node("apple_1", 1.0, 0.1)
    assert note_seen(names, belief(first), "agent_0") == ("Fridge_1", "Apple_1")
    assert note_seen(names, belief(second, first), "agent_0") == ("Fridge_1", "Apple_2", "Apple_1")
    assert names.entity_of("Apple_1") == "apple_9"
    assert names.of_class("Apple") == ("Apple_1", "Apple_2")
    assert names.was_seen_by("Apple_1", "agent_0")
    assert not names.was_seen_by("Apple_1", "agent_1")
    assert names.entity_of("Apple_3") is None
    assert not names.was_seen_by("Apple_3", "agent_0")
    assert names.spoken("apple_9 is not on apple_99.") == "Apple_1 is not on apple_99."


def test_what_cameras_met_in_passing_has_a_name_and_no_seer() -> None:
    names = InstanceNames()
    passed = node("apple_1", -1.0, 0.0, source=Source.SEEN)
    told = node("apple_2", -1.0, 0.0, source=Source.TOLD)
    note_met(names, belief(passed, told))
    assert names.names == ("Apple_1",)
    assert not names.was_seen_by("Apple_1", "agent_0")


@pytest.mark.parametrize(
    ("class_name", "shown"),
    [("chest_of_drawers", "ChestOfDrawers"), ("coffee mug", "CoffeeMug"), ("\u00b0", "Thing")],
)
def test_classes_are_shown_as_one_word(class_name: str, shown: str) -> None:
    assert shown_class(class_name) == shown


def test_the_state_in_words() -> None:
    names = InstanceNames()
    known = belief(heading_rad=1.2)
    assert state_words(known, "agent_0", names) == "(0.00, 0.00), facing north, holding cup_7"
    names.see(known.nodes.values())
    assert state_words(known, "agent_0", names).endswith("holding Cup_1")
    free = replace(known.nodes["agent_0"], hands=(None,), heading_rad=None)
    assert (
        state_words(replace(known, nodes={"agent_0": free}), "agent_0", names)
        == "(0.00, 0.00), holding nothing"
    )
    assert state_words(known, "agent_5", names) == "unknown"


@pytest.mark.parametrize(
    ("heading_rad", "words"),
    [(0.0, "east"), (1.4, "north"), (3.1, "west"), (-3.1, "west"), (-1.6, "south"), (6.2, "east")],
)
def test_headings_are_told_by_the_nearest_direction(heading_rad: float, words: str) -> None:
    assert compass(heading_rad) == words
