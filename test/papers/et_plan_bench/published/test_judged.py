"""ET-Plan-Bench's tasks in the graph world: loaded unfitted, carried out, judged."""

import json
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from graph_tasks import CATEGORIES, write_tasks
from legible import check_legible, words_of

from papers.et_plan_bench.published.file import EtTask, read_et_file
from papers.et_plan_bench.published.judged import graph_episode, script_lines
from papers.et_plan_bench.published.task_graphs import import_into_graphs
from planner.cli import main
from planner.episodes.drawing.picture import draw_episode
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.metrics.table import summarise
from planner.evaluation.progress import Verdict
from planner.evaluation.task import Evaluation
from planner.evaluation.trace import read_traces
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


def test_things_of_a_graph_are_drawn_where_they_are(tmp_path: Path) -> None:
    line = {
        "task": "Put the plum into the fridge.",
        "task_completion_criterion": "(CLOSE, robot, fridge)(INSIDE, plum, fridge)",
        "env_id": 1,
        "ground_truth_plan": [
            "<char0> [walk] <kitchentable> (1)",
            "<char0> [walk] <plum> (3)",
            "<char0> [grab] <plum> (3)",
            "<char0> [walk] <fridge> (5)",
            "<char0> [putin] <plum> (3) <fridge> (5)",
        ],
    }
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(line), "utf-8")
    found = import_into_graphs([path])
    (episode,) = found.episodes
    picture = draw_episode(episode, found.houses[episode.house])
    assert "Not in this house" not in words_of(picture)
    assert words_of(picture).count("plum_3") == 1
    check_legible(picture)


@pytest.mark.slow
def test_an_imported_task_of_criteria_alone_is_run_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walks = [
        f"<char0> [walk] <{word}> ({n})" for n, word in enumerate(["kitchen", "desk", "apple"])
    ]
    task = {
        "task": "Gronk.",
        "task_completion_criterion": "(CLOSE, robot, apple)",
        "env_id": 1,
        "ground_truth_plan": walks,
    }
    (tmp_path / "tasks.json").write_text(json.dumps(task), encoding="utf-8")
    words = [str(tmp_path / "tasks.json"), "--output", str(tmp_path / "made")]
    assert main(["episodes", "import", "et-plan-bench", *words]) == 0
    assert "imported 1, of which 1 can be judged" in capsys.readouterr().out
    trace = tmp_path / "run.jsonl"
    episode = str(tmp_path / "made" / "tasks-1.json")
    # Words that are not understood: nothing is done, and that is judged.
    assert main(["run", episode, "--no-images", "-o", str(tmp_path), "--trace", str(trace)]) == 1
    (told,) = read_traces(trace)
    assert (told.end.success, told.end.criteria, told.episode.propositions) == (False, False, ())
    assert told.end.explanation == "At the end agent_0 is not close to apple_0."
    assert told.episode.reference.actions[-1] == "Navigate[apple_0]"
    assert told.episode.reference.length == 3
    rows = {row.metric.name: row.estimate.value for row in summarise([told])}
    assert (rows["criteria_success"], rows["sequence_length"]) == (0.0, 20.0)
    assert (rows["lcs_ratio"], rows["transport_rate"]) == (0.0, None)
