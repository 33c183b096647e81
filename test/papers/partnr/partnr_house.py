"""A small house for PARTNR's instructions, with things where a test wants them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from papers.partnr.episodes.goals import derive
from planner.grounding.scene import Scene, Thing
from planner.world.geometry import Box
from planner.world.vocabulary import EntityKind, Relation

ROOMS = {
    "living_room_0": "living_room",
    "kitchen_0": "kitchen",
    "dining_room_0": "dining_room",
    "bedroom_0": "bedroom",
    "bedroom_1": "bedroom",
    "closet_0": "closet",
}


BOX = Box((0.0, 0.0, 0.0), (0.1, 0.1, 0.1))


def _piece(name: str, room: str, *, top: bool = True, inside: bool = False) -> Thing:
    class_name = name.rsplit("_", 1)[0]
    return Thing(
        name, EntityKind.FURNITURE, class_name, BOX, room, room, surface=top, hollow=inside,
        affordances=("openable",) if class_name == "fridge" else (),
    )  # fmt: skip


FURNITURE = (
    _piece("table_0", "living_room_0"),
    _piece("table_1", "living_room_0"),
    _piece("table_2", "living_room_0"),
    _piece("table_3", "dining_room_0"),
    _piece("table_4", "bedroom_0"),
    _piece("counter_0", "kitchen_0", inside=True),
    _piece("cabinet_0", "kitchen_0", inside=True),
    _piece("cabinet_1", "kitchen_0", inside=True),
    _piece("fridge_0", "kitchen_0", top=False, inside=True),
    _piece("chest_of_drawers_0", "bedroom_0", inside=True),
    _piece("chest_of_drawers_1", "bedroom_1", inside=True),
    _piece("bed_0", "bedroom_0"),
    _piece("bed_1", "bedroom_1"),
    _piece("shelves_0", "closet_0"),
    _piece("shelves_1", "closet_0"),
)


def scene_with(**objects: str) -> Scene:
    """Objects by name (`cup_0="table_0"`), in the house above."""
    things = {
        name: Thing(name, EntityKind.ROOM, class_name, BOX, name)
        for name, class_name in ROOMS.items()
    }
    things |= {piece.name: piece for piece in FURNITURE}
    for name, parent in objects.items():
        class_name, room = name.rsplit("_", 1)[0], things[parent].room
        things[name] = Thing(
            name, EntityKind.OBJECT, class_name, BOX, room, parent, Relation.ON,
            affordances=("clean",),
        )  # fmt: skip
    return Scene(things, complete=True)


def goal(words: str, **objects: str) -> dict[str, Any]:
    derivation = derive(words, scene_with(**objects))
    assert derivation.evaluation is not None, derivation.reason
    return derivation.evaluation


def facts(evaluation: dict[str, Any]) -> list[tuple[str, list[str], list[str]]]:
    """Each proposition as function, first list, second list."""
    found = []
    for item in evaluation["propositions"]:
        args = item["args"]
        lists = [value for value in args.values() if isinstance(value, list)]
        found.append((item["function_name"], lists[0], lists[1] if len(lists) > 1 else []))
    return found


def constraints(evaluation: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [item for item in evaluation["constraints"] if item["type"].startswith(kind)]


def able(scene: Scene, **affordances: str) -> Scene:
    things = {n: replace(scene.things[n], affordances=(a,)) for n, a in affordances.items()}
    return replace(scene, things={**scene.things, **things})
