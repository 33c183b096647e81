"""The class that an operator is asked about is what perception has for the thing at the target."""

from __future__ import annotations

from typing import Any

import pytest
from skill_world import DT_S, World

from planner.skills.attempt import class_at
from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.vocabulary import EntityKind, Relation

AT: Vec3 = (1.0, 2.0, 0.8)


def thing(name: str, **fields: Any) -> BeliefNode:
    given = {"position_m": AT, "source": Source.SEEN, "size_m": (0.1, 0.1, 0.1), **fields}
    return BeliefNode(name, EntityKind.OBJECT, name.rpartition("_")[0], 1, **given)


def believed(*nodes: BeliefNode) -> Belief:
    return Belief(0.0, 1, {node.name: node for node in nodes})


CUP = thing("cup_0")


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ([CUP], "cup"),
        ([], ""),
        ([thing("cup_0", position_m=(1.0, 2.0, 0.91))], ""),
        ([thing("cup_0", position_m=(1.0, 2.0, 0.89))], "cup"),
        # Its words are somebody's, not perception's.
        ([thing("cup_0", source=Source.TOLD)], ""),
        ([thing("cup_0", source=Source.INFERRED)], ""),
        ([thing("cup_0", relation=Relation.HELD)], ""),
        ([thing(f"{UNNAMED_CLASS}_0")], ""),
        ([CUP, thing("knife_0", position_m=(1.0, 2.05, 0.8))], "cup"),
        ([CUP, thing("knife_0", position_m=(1.0, 2.02, 0.8))], ""),
        ([CUP, thing("knife_0", position_m=(1.0, 2.02, 0.8), source=Source.TOLD)], ""),
        ([CUP, thing("cup_1", position_m=(1.0, 2.02, 0.8))], "cup"),
    ],
)
def test_the_class_is_of_what_was_seen_at_the_point(nodes: list[BeliefNode], found: str) -> None:
    assert class_at(believed(*nodes), AT) == found


@pytest.fixture
def picks(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The class of each pick that the world is asked for."""
    asked: list[str] = []
    start = world.backend.start

    def noted(agent: str, primitive: Primitive) -> Any:
        if primitive.name is PrimitiveName.PICK:
            asked.append(primitive.thing_class)
        return start(agent, primitive)

    monkeypatch.setattr(world.backend, "start", noted)
    world.run("Navigate[table_0]")
    return asked


def test_a_pick_says_what_perception_takes_the_thing_for(world: World, picks: list[str]) -> None:
    world.changes["cup_0"] = {"class_name": "bowl"}
    assert world.run("Pick[cup_0]").succeeded
    assert picks == ["bowl"], "the name says cup, perception sees a bowl"


@pytest.mark.parametrize(("change", "found"), [({}, "apple"), (None, "")])
def test_a_point_of_the_caller_does_not_make_a_cup_of_what_is_there(
    world: World, picks: list[str], change: dict[str, object] | None, found: str
) -> None:
    where = world.state.entities["apple_0"].box.center_m
    world.changes["apple_0"] = change
    executor = world.executors["agent_0"]
    result = executor.start("Pick[cup_0]", points=(where,))
    while result is None:
        world.backend.step(DT_S)
        result = executor.step()
    assert picks == [found]


def test_what_perception_knows_nothing_of_has_no_class(world: World, picks: list[str]) -> None:
    world.changes["cup_0"] = {"source": Source.TOLD}
    assert world.run("Pick[cup_0]").succeeded
    assert picks == [""]


def test_what_perception_sees_on_the_way_counts(
    world: World, picks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.run("Navigate[couch_0]")
    call = world.executors["agent_0"]
    result = call.start("Rearrange[cup_0, on, table_0, None, None]")
    world.changes["cup_0"] = {"class_name": "knife"}
    while result is None:
        world.backend.step(DT_S)
        result = call.step()
    assert set(picks) == {"knife"}
