"""Goals that need furniture which nobody reaches, in a data set's own scene."""

from __future__ import annotations

from typing import Any

import pytest

from planner.episodes.lint.reach import out_of_reach
from planner.evaluation.language import read_evaluation
from planner.world.geometry import Pose
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, Relation

Document = dict[str, Any]
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
