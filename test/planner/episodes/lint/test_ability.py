"""Nearness that the places of things rule out is found before anything is solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from planner.episodes.lint.ability import impossible_neighbours, out_of_reach
from planner.evaluation.language import read_evaluation
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, Relation

Document = dict[str, Any]
SIZES = {"cup_0": (0.1, 0.1, 0.1), "cushion_0": (0.4, 0.4, 0.12), "vase_0": (0.1, 0.1, 0.5)}


def _box(center: Sequence[float], size: Sequence[float]) -> Document:
    return {"center": list(center), "size": list(size), "rgb": "#808080"}


def _piece(name: str, at: tuple[float, float], top_m: float) -> Document:
    return {
        "name": name,
        "class_name": name.rpartition("_")[0],
        "room": "kitchen_0",
        "x_m": at[0],
        "y_m": at[1],
        "yaw_rad": 0.0,
        "size_m": [0.5, 0.5, top_m],
        "parts": [_box((0, 0, top_m / 2), (0.5, 0.5, top_m))],
        "surfaces": [{"name": "top", "center": [0, 0, top_m], "size": [0.5, 0.5]}],
    }


@pytest.fixture(scope="module")
def house(small_house: House) -> House:
    """A chair at a table, a couch far away."""
    document = small_house.model_dump(mode="json")
    document["rooms"] = [
        {
            "name": "kitchen_0",
            "class_name": "kitchen",
            "polygon_m": [[0, 0], [9, 0], [9, 4], [0, 4]],
        }
    ]
    document["doors"] = []
    document["objects"] = []
    document["furniture"] = [
        _piece("table_0", (1.0, 1.0), 0.75),
        _piece("chair_0", (1.6, 1.0), 0.45),
        _piece("couch_0", (6.0, 1.0), 0.75),
    ]
    return House.model_validate(document)


def _on(name: str, *places: str) -> Document:
    return {"function_name": "is_on_top", "args": {"objects": [name], "receptacles": list(places)}}


def _next_to(*names: str) -> Document:
    args = {"entities_a": [names[0]], "entities_b": list(names[1:])}
    return {"function_name": "is_next_to", "args": args}


CUSHION = _on("cushion_0", "chair_0")


def _findings(house: House, *goals: Document, **more: object) -> list[str]:
    entities = {
        name: EntityState(
            name=name,
            kind=EntityKind.OBJECT,
            class_name=name.rpartition("_")[0],
            instance_id=i,
            pose=Pose((3.0, 3.0, 0.0)),
            size_m=size_m,
            parent=None,
            relation=None,
            room="kitchen_0",
        )
        for i, (name, size_m) in enumerate(SIZES.items())
    }
    evaluation = read_evaluation({"propositions": list(goals), **more}, "test")  # type: ignore[dict-item]
    return [f"{f.field}: {f.reason}" for f in impossible_neighbours(evaluation, house, entities)]


def test_a_cup_on_a_table_is_not_next_to_a_cushion_on_a_chair(house: House) -> None:
    (finding,) = _findings(
        house, _on("cup_0", "table_0"), _on("cushion_0", "chair_0"), _next_to("cup_0", "cushion_0")
    )
    assert finding == (
        "propositions.2: cup_0 cannot be next to cushion_0 where the other propositions want them"
    )


def test_nor_next_to_what_is_far_away(house: House) -> None:
    goals = (_on("cup_0", "table_0"), _on("vase_0", "couch_0"))
    assert len(_findings(house, *goals, _next_to("cup_0", "vase_0"))) == 1
    cluster = {
        "function_name": "is_clustered",
        "args": {"entities": [["cup_0"], ["vase_0"]]},
    }
    assert len(_findings(house, *goals, cluster)) == 1
    assert len(_findings(house, goals[0], _next_to("cup_0", "couch_0"))) == 1


def test_at_the_moment_of_a_gate_too(house: House) -> None:
    goals = (_on("cup_0", "table_0"), _on("cushion_0", "chair_0"), _next_to("cup_0", "cushion_0"))
    gate = {"proposition_indices": [2], "depends_on": [0, 1], "relation_type": "while_satisfied"}
    not_at_the_end = {
        "type": "TerminalSatisfactionConstraint",
        "proposition_indices": [0],
    }
    constraints = [not_at_the_end]
    assert len(_findings(house, *goals, dependencies=[gate], constraints=constraints)) == 1
    assert _findings(house, *goals, constraints=constraints) == []


@pytest.mark.parametrize(
    "goals",
    [
        # The vase is as tall as the table is over the seat.
        (_on("cup_0", "table_0"), _on("vase_0", "chair_0"), _next_to("cup_0", "vase_0")),
        (_on("cup_0", "table_0", "chair_0"), CUSHION, _next_to("cup_0", "cushion_0")),
        (_on("cup_0", "table_0"), _next_to("cup_0", "cushion_0")),
        (_on("cup_0", "table_0"), CUSHION, _next_to("cup_0", "cushion_0", "vase_0")),
        (_on("cup_0", "chair_0"), _next_to("cup_0", "table_0")),
    ],
)
def test_what_is_possible_is_no_finding(house: House, goals: tuple[Document, ...]) -> None:
    assert _findings(house, *goals) == []


UNREACHABLE = {"chair_0": "no agent can get within reach of chair_0's seat"}


def _entity(name: str, kind: EntityKind, parent: str, **states: bool) -> EntityState:
    return EntityState(
        name=name,
        kind=kind,
        class_name=name.rpartition("_")[0],
        instance_id=1,
        pose=Pose((0.0, 0.0, 0.0)),
        size_m=(0.1, 0.1, 0.1),
        parent=parent,
        relation=Relation.ON if kind is EntityKind.OBJECT else None,
        room="kitchen_0",
        states=dict(states),
    )


ENTITIES = {
    entity.name: entity
    for entity in (
        _entity("chair_0", EntityKind.FURNITURE, "kitchen_0", clean=False),
        _entity("table_0", EntityKind.FURNITURE, "kitchen_0", clean=False),
        _entity("cup_0", EntityKind.OBJECT, "table_0", clean=True),
        _entity("cup_1", EntityKind.OBJECT, "chair_0", clean=False),
    )
}


def _goal(name: str, objects: list[str], *places: str) -> Document:
    args: Document = {"objects": objects}
    if places:
        args["receptacles"] = list(places)
    return {"function_name": name, "args": args}


def _fields(goal: Document) -> list[str]:
    evaluation = read_evaluation({"propositions": [goal]}, "test")
    return [field for field, _ in out_of_reach(evaluation, ENTITIES, UNREACHABLE)]


@pytest.mark.parametrize(
    "goal",
    [
        _goal("is_open", ["chair_0"]),
        _goal("is_on_top", ["cup_0"], "chair_0"),
        _goal("is_on_top", ["cup_1"], "table_0"),
        _goal("is_on_floor", ["cup_1"]),
        _goal("is_clean", ["cup_1"]),
        _goal("is_clean", ["chair_0"]),
    ],
)
def test_what_needs_unreachable_furniture_is_found(goal: Document) -> None:
    assert _fields(goal) == ["propositions.0"]


@pytest.mark.parametrize(
    "goal",
    [
        _goal("is_on_top", ["cup_0"], "chair_0", "table_0"),
        _goal("is_on_top", ["cup_0", "cup_1"], "table_0"),
        _goal("is_on_top", ["cup_1"], "chair_0"),
        _goal("is_dirty", ["chair_0"]),
        _goal("is_clean", ["table_0"]),
    ],
)
def test_what_needs_none_or_holds_already_is_not(goal: Document) -> None:
    assert _fields(goal) == []
