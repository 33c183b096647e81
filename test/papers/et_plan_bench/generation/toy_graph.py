"""The graph of ETPLAN-8's first checks: a fridge with an apple in it, a table with one on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.world.graph_house import house_of_document
from planner.world.house import House

KITCHEN, LIVING_ROOM, FRIDGE, TABLE, APPLE, OTHER_APPLE = 1, 2, 3, 4, 5, 6
_ROOM_M = 6.0


def toy_document(*more: dict[str, Any], door: bool = True) -> dict[str, Any]:
    """The graph; `more` are further nodes, each with its `in` or `on`."""
    nodes: list[dict[str, Any]] = [
        _node(KITCHEN, "kitchen", (0, 0), 6, category="Rooms"),
        _node(LIVING_ROOM, "livingroom", (6, 0), 6, category="Rooms"),
        _node(7, "bedroom", (12, 0), 6, category="Rooms"),
        _node(FRIDGE, "fridge", (-2, 2), 0.8, properties=["CAN_OPEN", "CONTAINERS"],
              states=["CLOSED"]),
        _node(TABLE, "table", (2, -2), 1.0, properties=["SURFACES"]),
        _node(APPLE, "apple", (-2, 2), 0.1, properties=["GRABBABLE"]),
        _node(OTHER_APPLE, "apple", (2, -2), 0.1, properties=["GRABBABLE"]),
        _node(8, "door", (9, 0), 0.9, category="Doors"),
    ]  # fmt: skip
    edges = [
        _edge(FRIDGE, "INSIDE", KITCHEN),
        _edge(TABLE, "INSIDE", KITCHEN),
        _edge(APPLE, "INSIDE", FRIDGE),
        _edge(OTHER_APPLE, "ON", TABLE),
        _edge(8, "BETWEEN", LIVING_ROOM),
        _edge(8, "BETWEEN", 7),
    ]
    if door:
        nodes.append(_node(9, "door", (3, 0), 0.9, category="Doors"))
        edges += [_edge(9, "BETWEEN", KITCHEN), _edge(9, "BETWEEN", LIVING_ROOM)]
    for node in more:
        place = {key: node.pop(key) for key in ("in", "on") if key in node}
        nodes.append(node)
        edges += [
            _edge(node["id"], {"in": "INSIDE", "on": "ON"}[how], other)
            for how, other in place.items()
        ]
    return {"nodes": nodes, "edges": edges}


def toy_house(*more: dict[str, Any], door: bool = True) -> House:
    """The graph as a house."""
    return house_of_document(toy_document(*more, door=door), Path("toy.json"))


def _node(
    number: int, word: str, at: tuple[float, float], side: float, **more: Any
) -> dict[str, Any]:
    box = {"center": [at[0], side / 2, at[1]], "size": [side] * 3}
    return {"id": number, "class_name": word, "category": "", "bounding_box": box, **more}


def _edge(one: int, kind: str, other: int) -> dict[str, Any]:
    return {"from_id": one, "relation_type": kind, "to_id": other}
