"""Scene graphs made up at random: a sound one is read whole, one defect is one error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_kitchen import edge, node
from hypothesis import strategies as st
from random_cases import random_cases

from planner.world.errors import FileError
from planner.world.graph_file import parse_graph
from planner.world.graph_house import house_of_graph
from planner.world.house import house_json
from planner.world.house_checks import house_from_json
from planner.world.vocabulary import Relation

Document = dict[str, Any]

ROBOT, ROOMS, PIECES, THINGS = 1, 10, 100, 1000
PIECE_STATES = {"CAN_OPEN": ["OPEN", "CLOSED"], "HAS_SWITCH": ["ON", "OFF"], "SURFACES": ["CLEAN"]}


@st.composite
def graphs(draw: st.DrawFn) -> Document:
    """Rooms, furniture in them, things on or in furniture and each other, a character."""
    rooms = [node(ROOMS + i, "kitchen", "Rooms") for i in range(draw(st.integers(1, 3)))]
    nodes, edges = [node(ROBOT, "character", "Characters"), *rooms], []
    numbers = [room["id"] for room in rooms]
    edges.append(edge(ROBOT, "INSIDE", draw(st.sampled_from(numbers))))
    pieces = []
    for i in range(draw(st.integers(1, 4))):
        capable = draw(st.sampled_from(sorted(PIECE_STATES)))
        states = draw(st.lists(st.sampled_from(PIECE_STATES[capable]), max_size=1))
        pieces.append(PIECES + i)
        properties = [capable, "SURFACES", "CONTAINERS"]
        nodes.append(node(PIECES + i, "cabinet", properties=properties, states=states))
        edges.append(edge(PIECES + i, "INSIDE", draw(st.sampled_from(numbers))))
    places = list(pieces)
    for i in range(draw(st.integers(2, 6))):
        nodes.append(node(THINGS + i, "bowl", properties=["GRABBABLE", "RECIPIENT"]))
        kind = draw(st.sampled_from(["ON", "INSIDE"]))
        edges.append(edge(THINGS + i, kind, draw(st.sampled_from(places))))
        places.append(THINGS + i)
    return {"nodes": nodes, "edges": edges}


@random_cases(10, 500, graphs())
def test_every_node_and_edge_is_in_the_house_and_in_its_file(document: Document) -> None:
    house = house_of_graph(parse_graph(document, "made"), "made")
    assert house_from_json(house_json(house), "made") == house
    placed = {e["from_id"]: (e["relation_type"], e["to_id"]) for e in document["edges"]}
    assert len(house.objects) == sum(number >= THINGS for number in placed)
    for thing in house.objects:
        kind, below = placed[_number(thing.name)]
        expected = Relation.WITHIN if kind == "INSIDE" else Relation.ON
        assert (thing.relation, _number(thing.parent)) == (expected, below)
    for piece in house.furniture:
        assert (_number(piece.room)) == placed[_number(piece.name)][1]


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _things(document: Document) -> list[int]:
    return [n["id"] for n in document["nodes"] if n["id"] >= THINGS]


def _dangling(document: Document, pick: int) -> Iterator[str]:
    edges = document["edges"]
    field = ("from_id", "to_id")[pick % 2]
    edges[pick % len(edges)][field] = 9999
    yield f"edges.{pick % len(edges)}.{field}"
    yield "there is no node 9999"


def _cycle(document: Document, pick: int) -> None:
    below = {e["from_id"]: e["to_id"] for e in document["edges"]}
    things = _things(document)
    top = things[pick % len(things)]
    lowest = top
    while below[lowest] >= THINGS:
        lowest = below[lowest]
    document["edges"].append(edge(lowest, "INSIDE", top))


def _two_in_one_hand(document: Document, pick: int) -> Iterator[str]:
    things = _things(document)
    first, second = things[pick % len(things)], things[(pick + 1) % len(things)]
    document["edges"] += [edge(ROBOT, "HOLDS_LH", first), edge(ROBOT, "HOLDS_LH", second)]
    yield f"edges.{len(document['edges']) - 1}.to_id"
    yield f"holds bowl_{first} already"


def _unknown_state(document: Document, pick: int) -> Iterator[str]:
    index = pick % len(document["nodes"])
    states = [*document["nodes"][index].get("states", []), "ENCHANTED"]
    document["nodes"][index]["states"] = states
    yield f"nodes.{index}.states.{len(states) - 1}"
    yield "there is no state 'ENCHANTED'"


@pytest.mark.parametrize("spoil", [_dangling, _two_in_one_hand, _unknown_state])
@random_cases(10, 300, graphs(), st.integers(0, 99))
def test_a_defect_anywhere_is_named_by_its_field(spoil: Any, document: Document, pick: int) -> None:
    field, reason = spoil(document, pick)
    with pytest.raises(FileError) as caught:
        parse_graph(document, "made.json")
    assert (caught.value.file, caught.value.field) == ("made.json", field)
    assert reason in caught.value.reason


@random_cases(10, 300, graphs(), st.integers(0, 99))
def test_an_edge_that_closes_a_circle_changes_nothing(document: Document, pick: int) -> None:
    sound = parse_graph(document, "made.json")
    _cycle(document, pick)
    assert parse_graph(document, "made.json") == sound
