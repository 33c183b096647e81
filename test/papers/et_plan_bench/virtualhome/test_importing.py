"""VirtualHome-style graphs, of our own content."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from papers.et_plan_bench.virtualhome.importing import import_graphs
from planner.cli import main
from planner.episodes.importing.importer import Imported
from planner.episodes.lint.goal import Rule
from planner.episodes.lint.linting import Linter
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Predicate
from planner.world.vocabulary import Relation

Document = dict[str, Any]


def _node(number: int, name: str, *states: str, grab: bool = False, room: bool = False) -> Document:
    return {
        "id": number,
        "class_name": name,
        "category": "Rooms" if room else "Furniture",
        "states": list(states),
        "properties": ["GRABBABLE"] if grab else ["SURFACES"],
        "prefab_name": "not read",
        "bounding_box": {"center": [0, 0, 0], "size": [1, 1, 1]},
    }


def _edge(one: int, relation: str, other: int) -> Document:
    return {"from_id": one, "relation_type": relation, "to_id": other}


GRAPH: Document = {
    "nodes": [
        _node(1, "kitchen", room=True),
        _node(2, "kitchentable", "CLEAN"),
        _node(3, "fridge", "OPEN"),
        _node(4, "apple", grab=True),
        _node(5, "dishbowl", "DIRTY", grab=True),
        _node(6, "unicorn", grab=True),
        _node(7, "milk", grab=True),
        _node(8, "floor"),
    ],
    "edges": [
        _edge(2, "INSIDE", 1),
        _edge(3, "INSIDE", 1),
        _edge(4, "ON", 2),
        _edge(4, "INSIDE", 1),
        _edge(5, "ON", 2),
        _edge(6, "ON", 2),
        _edge(7, "INSIDE", 3),
        _edge(4, "CLOSE", 5),
    ],
}


def _after() -> Document:
    """The apple in the fridge, the bowl clean."""
    graph = copy.deepcopy(GRAPH)
    graph["nodes"][4]["states"] = ["CLEAN"]
    graph["edges"] = [e for e in graph["edges"] if e["from_id"] != 4]
    graph["edges"] += [_edge(4, "INSIDE", 3), _edge(4, "INSIDE", 1)]
    return graph


def _program(**more: object) -> Document:
    task = "Wash the bowl and put the apple away."
    return {"init_graph": GRAPH, "final_graph": _after(), "task": task, **more}


def _imported(folder: Path, document: object) -> Imported:
    path = folder / "flat.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return import_graphs([path], 0)


def test_the_difference_of_two_graphs_is_the_goal(tmp_path: Path) -> None:
    result = _imported(tmp_path, _program())
    (made,) = result.episodes
    assert made.instruction == "Wash the bowl and put the apple away."
    evaluation = read_evaluation(made.evaluation, "flat")
    said = {(p.predicate, p.lists) for p in evaluation.propositions}
    assert said == {
        (Predicate.IS_INSIDE, (("apple_0",), ("fridge_3",))),
        ("is_clean", (("bowl_0",),)),
    }
    assert made.task_types == ("heterogeneous",)


def test_things_are_where_the_graph_says(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, _program()).episodes
    placed = {item.class_name: item for item in made.objects}
    assert set(placed) == {"apple", "bowl", "milk_carton"}
    assert placed["apple"].parent == "table_2"
    assert (placed["milk_carton"].parent, placed["milk_carton"].relation) == (
        "fridge_3",
        Relation.WITHIN,
    )
    assert placed["bowl"].states["clean"] is False
    assert made.furniture["fridge_3"].open is True
    assert made.source is not None
    assert made.source.not_taken == ("unicorn_6 has no class of the catalogue",)


def _nested() -> tuple[Document, Document]:
    """A kitchen with the apple in the pan, and with the pan in the fridge and the milk in that."""
    start = copy.deepcopy(GRAPH)
    start["nodes"].append(_node(9, "fryingpan", grab=True))
    start["edges"] += [_edge(4, "INSIDE", 9), _edge(9, "ON", 2)]
    end = copy.deepcopy(start)
    end["edges"] = [e for e in start["edges"] if e["from_id"] not in (9, 7)]
    end["edges"] += [_edge(9, "INSIDE", 3), _edge(7, "ON", 9)]
    return start, end


def test_things_are_in_the_things_that_the_graph_says(tmp_path: Path) -> None:
    start, end = _nested()
    (made,) = _imported(tmp_path, {"init_graph": start, "final_graph": end}).episodes
    placed = {item.name: item for item in made.objects}
    assert (placed["apple_0"].parent, placed["apple_0"].part) == ("pan_0", "hollow")
    assert placed["pan_0"].parent == "table_2"
    evaluation = read_evaluation(made.evaluation, "nested")
    # The apple comes along, which is no change of its place.
    assert {(p.predicate, p.lists) for p in evaluation.propositions} == {
        (Predicate.IS_INSIDE, (("pan_0",), ("fridge_3",))),
        (Predicate.IS_INSIDE, (("milk_carton_0",), ("pan_0",))),
    }


@pytest.mark.parametrize(("one", "other"), [(5, 9), (9, 5), (5, 5)])
def test_things_in_each_other_are_on_the_furniture(one: int, other: int, tmp_path: Path) -> None:
    graph = copy.deepcopy(GRAPH)
    graph["nodes"].append(_node(9, "dishbowl", grab=True))
    graph["edges"] += [_edge(9, "ON", 2), _edge(one, "INSIDE", other), _edge(other, "INSIDE", one)]
    (made,) = _imported(tmp_path, graph).episodes
    parents = {i.name: i.parent for i in made.objects if i.class_name == "bowl"}
    assert set(parents.values()) == {"table_2"}


def test_one_graph_is_a_start_without_a_goal(tmp_path: Path) -> None:
    result = _imported(tmp_path, GRAPH)
    (missing,) = result.without_goal
    assert missing.reason == "the file has no graph of the end"
    assert result.episodes[0].evaluation is None


@pytest.mark.slow
def test_the_command_writes_what_the_lint_accepts(tmp_path: Path) -> None:
    path, out = tmp_path / "flat.json", tmp_path / "out"
    path.write_text(json.dumps(_program()), encoding="utf-8")
    assert main(["episodes", "import", "virtualhome-graph", str(path), "-o", str(out)]) == 0
    assert Linter().lint(out / "virtualhome-flat.json").findings == ()
    path.write_text(json.dumps(GRAPH), encoding="utf-8")
    assert main(["episodes", "import", "virtualhome-graph", str(path), "-o", str(out)]) == 0
    rules = {f.rule for f in Linter().lint(out / "virtualhome-flat.json").findings}
    assert rules == {Rule.NO_INSTRUCTION, Rule.NO_EVALUATION}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "valid dictionary"),
        ({"nodes": []}, "nodes"),
        ({"nodes": [_node(1, "kitchen"), _node(1, "kitchen")]}, "1 is used twice"),
        ({"nodes": [_node(1, "kitchen")], "edges": [_edge(1, "ON", 9)]}, "there is no node 9"),
        ({"nodes": [_node(1, "unicorn")]}, "no room that holds"),
        ({"nodes": [_node(10**20, "kitchen")]}, "nodes.0.id"),
        (_program(final_graph={"nodes": 3}), "final_graph.nodes"),
    ],
)
def test_bad_graphs_are_listed(document: object, words: str, tmp_path: Path) -> None:
    result = _imported(tmp_path, document)
    assert not result.episodes
    (fault,) = result.left_out
    assert fault.file == "flat.json"
    assert words in fault.reason


def test_graphs_in_circles_end(tmp_path: Path) -> None:
    graph = copy.deepcopy(GRAPH)
    graph["edges"] += [_edge(2, "ON", 4), _edge(1, "INSIDE", 2), _edge(4, "ON", 4)]
    result = _imported(tmp_path, graph)
    assert len(result.episodes) + len(result.left_out) == 1
