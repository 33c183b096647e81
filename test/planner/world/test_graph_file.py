"""Scene graphs: what is wrong with a file is one error with file, field and reason."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graph_kitchen as kitchen
import pytest
from graph_kitchen import APPLE, BOWL, FRIDGE, KITCHEN, PEAR, ROBOT, TABLE, edge

from planner.world.errors import FileError
from planner.world.graph_file import parse_graph, read_graph

Break = Callable[[dict[str, Any]], None]


def _dangling(graph: dict[str, Any]) -> None:
    graph["edges"].append(edge(APPLE, "ON", 999))


def _two_in_one_hand(graph: dict[str, Any]) -> None:
    graph["edges"] += [edge(ROBOT, "HOLDS_RH", APPLE), edge(ROBOT, "HOLDS_RH", PEAR)]


def _one_in_two_hands(graph: dict[str, Any]) -> None:
    graph["edges"] += [edge(ROBOT, "HOLDS_RH", APPLE), edge(ROBOT, "HOLDS_LH", APPLE)]


def _holding_table(graph: dict[str, Any]) -> None:
    graph["edges"].append(edge(TABLE, "HOLDS_RH", APPLE))


def _held_fridge(graph: dict[str, Any]) -> None:
    graph["edges"].append(edge(ROBOT, "HOLDS_RH", FRIDGE))


def _unknown_state(graph: dict[str, Any]) -> None:
    graph["nodes"][2]["states"] = ["CLOSED", "ENCHANTED"]


def _sitting_apple(graph: dict[str, Any]) -> None:
    graph["nodes"][5]["states"] = ["SITTING"]


def _unknown_relation(graph: dict[str, Any]) -> None:
    graph["edges"][0]["relation_type"] = "BENEATH"


def _same_id(graph: dict[str, Any]) -> None:
    graph["nodes"][3]["id"] = FRIDGE


BROKEN: dict[str, tuple[Break, str, str]] = {
    "dangling edge": (_dangling, "edges.8.to_id", "there is no node 999"),
    "two in one hand": (_two_in_one_hand, "edges.9.to_id", "holds apple_13 already"),
    "one in two hands": (_one_in_two_hands, "edges.9.to_id", "is in another hand already"),
    "no hands": (_holding_table, "edges.8.from_id", "kitchentable_11 has no hands"),
    "not a thing": (_held_fridge, "edges.8.to_id", "fridge_10 cannot be held"),
    "unknown state": (_unknown_state, "nodes.2.states.1", "there is no state 'ENCHANTED'"),
    "posture": (_sitting_apple, "nodes.5.states.0", "it is not a character"),
    "unknown relation": (_unknown_relation, "edges.0.relation_type", "'BENEATH' is none of"),
    "id twice": (_same_id, "nodes.3.id", "10 is used twice"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("key", ["", "init_graph"])
def test_a_broken_graph_is_refused(name: str, key: str, tmp_path: Path) -> None:
    break_it, field, reason = BROKEN[name]
    document = kitchen.graph()
    break_it(document)
    path = kitchen.written(tmp_path, {key: document} if key else document)
    with pytest.raises(FileError) as caught:
        read_graph(path)
    assert caught.value.file == str(path)
    assert caught.value.field == (f"{key}." if key else "") + field
    assert reason in caught.value.reason


def test_a_field_that_is_wrong_is_named_within_its_graph(tmp_path: Path) -> None:
    document = kitchen.graph()
    del document["nodes"][0]["class_name"]
    with pytest.raises(FileError, match=r"init_graph\.nodes\.0\.class_name"):
        read_graph(kitchen.written(tmp_path, {"init_graph": document}))


def test_a_sound_graph_is_read_with_all_of_its_edges(tmp_path: Path) -> None:
    graph = read_graph(kitchen.written(tmp_path, {"init_graph": kitchen.graph()}))
    assert len(graph.nodes) == 9
    assert [e.relation_type for e in graph.edges].count("INSIDE") == 6


def test_what_contradicts_itself_is_mended_and_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As in VirtualHome's own graphs: lamps without a switch, curtains inside each other."""
    document = kitchen.graph()
    document["nodes"] += [
        kitchen.node(30, "walllamp", states=["ON", "CLEAN"]),
        kitchen.node(31, "walllamp", states=["ON"]),
        kitchen.node(32, "computer", properties=["HAS_SWITCH"], states=["OFF", "PLUGGED_IN"]),
        kitchen.node(33, "basket", properties=["GRABBABLE"]),
    ]
    document["edges"] += [
        edge(BOWL, "INSIDE", APPLE),
        edge(33, "INSIDE", 33),
        edge(30, "INSIDE", KITCHEN),
    ]
    path = kitchen.written(tmp_path, {"init_graph": document})
    graph = read_graph(path)
    by_id = {node.id: node for node in graph.nodes}
    assert all(by_id[number].has("HAS_SWITCH") for number in (30, 31, 32))
    assert by_id[32].has("HAS_PLUG")
    kept = [(e.from_id, e.to_id) for e in graph.edges]
    assert (BOWL, APPLE) not in kept
    assert (33, 33) not in kept
    assert kept[-1] == (30, KITCHEN)
    told = [record.getMessage().removeprefix(f"{path}: init_graph.") for record in caplog.records]
    added, left_out = "which is added", "is left out, as it closes a circle"
    assert told == [
        f"nodes.9: walllamp_30, walllamp_31: ON without the property HAS_SWITCH, {added}",
        f"nodes.11: computer_32: PLUGGED_IN without the property HAS_PLUG, {added}",
        f"edges.8: {left_out}: bowl_12 in apple_13 in bowl_12",
        f"edges.9: {left_out}: basket_33 in basket_33",
    ]


def test_virtualhomes_own_tables_are_read_unfitted() -> None:
    """Every class with each of its published states, in one room."""
    folder = Path(os.environ.get("VIRTUALHOME_RESOURCES", "absent"))
    if not folder.is_dir():
        pytest.skip("VIRTUALHOME_RESOURCES names no folder with VirtualHome's resources")
    properties = json.loads((folder / "properties_data_all.json").read_text(encoding="utf-8"))
    states = json.loads((folder / "object_states.json").read_text(encoding="utf-8"))
    by_word = {word.replace("_", ""): found for word, found in states.items()}
    nodes = [
        {
            "id": number,
            "class_name": word,
            "properties": found,
            "states": [s.strip().upper() for s in by_word.get(word.replace("_", ""), ())],
        }
        for number, (word, found) in enumerate(properties.items(), start=KITCHEN + 1)
    ]
    graph = parse_graph({"nodes": [*nodes, {"id": 1, "class_name": "kitchen"}]}, "tables")
    assert len(graph.nodes) == len(properties) + 1
