"""ET-Plan-Bench's tasks in the graph world: loaded unfitted, carried out, judged."""

import json
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from graph_tasks import CATEGORIES, write_tasks

from papers.et_plan_bench.published.file import EtTask, read_et_file
from papers.et_plan_bench.published.judged import graph_episode, script_lines
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.progress import Verdict
from planner.evaluation.task import Evaluation
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.graph.acting import act, script_action
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld


def _played(task: EtTask, house: House) -> Verdict:
    episode = graph_episode(task, house)
    world = GraphWorld(start_of(house, episode, default_catalogue()), episode, hands=2)
    judge = Evaluator(Evaluation(()), house, world.snapshot(), criteria=episode.criteria)
    for line in script_lines(task.plan):
        assert act(world, "agent_0", script_action(line)) is None, (task.text, line)
        world.steps += 1
        judge.update(world.snapshot())
    return judge.finish()


@pytest.mark.slow
def test_every_reference_plan_satisfies_its_criteria(tmp_path: Path) -> None:
    graph, lines = write_tasks(tmp_path, 504)
    file, house = read_et_file(lines), load_house(graph)
    assert file.faults == ()
    assert len(file.tasks) == 504
    assert {task.text.split(":")[0] for task in file.tasks} == set(CATEGORIES)
    for task in file.tasks:
        verdict = _played(task, house)
        assert verdict.success, (task.text, verdict.explanation)


def _specified(folder: Path, number: int) -> EtTask:
    line = {
        "id": "one",
        "category": "navi_mani",
        "scene": 3,
        "task": "Put an apple into the fridge.",
        "objects": {
            "A": {"class": "apple", "id": number},
            "C": {"class": "fridge"},
            "D": {"class": "kitchen", "id": 1},
        },
        "success": [["CLOSE", "robot", "C"], ["INSIDE", "C", "D"], ["INSIDE", "A", "C"]],
        "gt": [["OPEN", "fridge", 10]],
    }
    path = folder / "tasks.jsonl"
    path.write_text(json.dumps(line), encoding="utf-8")
    (task,) = read_et_file(path).tasks
    return task


def test_ids_mean_their_node_and_classes_every_node_of_theirs(tmp_path: Path) -> None:
    document = kitchen.graph()
    document["nodes"].append(kitchen.node(50, "apple", properties=["GRABBABLE"]))
    document["nodes"].append(kitchen.node(51, "fridge", properties=["CAN_OPEN"]))
    house = load_house(kitchen.written(tmp_path, document))
    criteria = graph_episode(_specified(tmp_path, 13), house).criteria
    assert criteria is not None
    assert criteria.variables == {
        "A": ("apple_13",),
        "C": ("fridge_10", "fridge_51"),
        "D": ("kitchen_1",),
    }


def test_what_the_graph_lacks_is_named(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    with pytest.raises(FileError, match=r"tasks\.jsonl: one\.A: the graph has no apple_99"):
        graph_episode(_specified(tmp_path, 99), house)


def test_where_things_are_at_first_is_not_asked_of_the_end(tmp_path: Path) -> None:
    criterion = "(INSIDE, pear, fridge)(CLOSE, robot, kitchentable)(ON, pear, kitchentable)"
    plan = [
        "<char0> [walk] <fridge> (10)",
        "<char0> [open] <fridge> (10)",
        "<char0> [grab] <pear> (14)",
        "<char0> [walk] <kitchentable> (11)",
        "<char0> [put] <pear> (14) <kitchentable> (11)",
    ]
    row = {"task": "t", "task_completion_criterion": criterion, "env_id": 1}
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row | {"ground_truth_plan": plan}), encoding="utf-8")
    (task,) = read_et_file(path).tasks
    house = load_house(kitchen.written(tmp_path))
    criteria = graph_episode(task, house).criteria
    assert criteria is not None
    assert criteria.intermediate == (("INSIDE", "pear", "fridge"),)
    assert _played(task, house).success
