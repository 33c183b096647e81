"""Speed of the graph world: actions, and tasks of 10 actions loaded, executed and evaluated.

CPU seconds of one core, so that a busy machine gives about the same.

Repeat with: python benchmarks/bench_graph_world.py [--tasks N] [--actions N]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from graph_tasks import write_tasks
from machine import print_table

from papers.et_plan_bench.published.file import EtTask, read_et_file
from papers.et_plan_bench.published.judged import graph_episode, script_lines
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.task import Evaluation
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.house_checks import load_house
from sim_bridge.graph.acting import Action, Verb, act, script_action
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

ACTIONS = 10


def judged(task: EtTask, house: House) -> bool:
    """Whether a task's plan satisfies it, padded with turns to ten actions."""
    episode = graph_episode(task, house)
    start = start_of(house, episode, default_catalogue())
    world = GraphWorld(start, episode, hands=2)
    judge = Evaluator(Evaluation(()), house, world.snapshot(), criteria=episode.criteria)
    plan = [script_action(line) for line in script_lines(task.plan)]
    plan = [Action(Verb.TURNRIGHT)] * (ACTIONS - len(plan)) + plan
    for action in plan:
        assert act(world, "agent_0", action) is None, action
        world.steps += 1
        judge.update(world.snapshot())
    return judge.finish().success


def actions_a_second(task: EtTask, house: House, count: int) -> float:
    """Rate of a repeated plan: walks, a grab and a put."""
    world = GraphWorld(
        start_of(house, episode := graph_episode(task, house), default_catalogue()), episode
    )
    plan = [script_action(line) for line in script_lines(task.plan)]
    done = 0
    begin = time.process_time()
    while done < count:
        for action in plan:
            act(world, "agent_0", action)
        done += len(plan)
    return done / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--actions", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        graph, lines = write_tasks(Path(folder), 2 * options.tasks)
        written = read_et_file(lines).tasks
        begin = time.process_time()
        house = load_house(graph)
        load_s = time.process_time() - begin
        begin = time.process_time()
        tasks = [t for t in read_et_file(lines).tasks if len(t.plan) <= ACTIONS][: options.tasks]
        ended = [judged(task, house) for task in tasks]
        tasks_a_second = len(ended) / (time.process_time() - begin)
        satisfied = Counter(task.text.split(":")[0] for task in written if judged(task, house))
        asked = Counter(task.text.split(":")[0] for task in written)
        fastest = actions_a_second(tasks[2], house, options.actions)
    print_table(
        "The graph world, by seconds of one core",
        [
            ("actions a second", f"{fastest:,.0f}", "20,000"),
            (f"tasks of {ACTIONS} actions a second", f"{tasks_a_second:,.0f}", "500"),
            ("of these satisfied", f"{sum(ended)}", f"{len(ended)}"),
            *((f"{c}: satisfied", f"{satisfied[c]}", f"{n}") for c, n in asked.items()),
            ("loading the graph, once, s", f"{load_s:.2f}", "-"),
        ],
    )


if __name__ == "__main__":
    main()
