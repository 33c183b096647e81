"""`et_agent` on generated tasks of the test houses, beside the same agent in random order.

Success, actions, what they have in common with the true plan, and metres, by category; and CPU
time of one core for each task with agent, session, world, judge and trace. Tasks are made before.

Repeat with: python benchmarks/bench_et_agent.py [--tasks N] [--rankers A,B] [--failures N]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence

from machine import print_table

from papers.et_plan_bench.generation.categories import Category, HomeSplit, homes
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Order, Row, generate
from planner.app.bodily_task_world import GraphTaskWorld
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult, traced
from planner.app.run_options import RunOptions
from planner.evaluation.metrics.table import metrics, summarise
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.parts.option import read_options
from planner.planning.part import PLANNERS, PlannerRequest
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.graph.backend import GraphBackend

ROWS = (
    *(Row(category) for category in Category),
    Row(Category.NAVIGATION, "FP"),
    Row(Category.MANIPULATION, "FP"),
    Row(Category.TWO_OBJECTS, arms=2),
)
COLUMNS = ("criteria_success", "sequence_length", "lcs_length", "lcs_ratio", "moving_distance")
Made = tuple[str, Episode, House]


def tasks(count: int) -> list[Made]:
    """Generated tasks of the ten test houses, with the name of their row."""
    world = GraphTaskWorld()
    houses = [HouseTasks(home.make(), "test", world, None) for home in homes(HomeSplit.TEST)]
    made: list[Made] = []
    for step, portion in generate(Order(houses, ROWS, count, seed=1), lambda _step, _keys: None):
        made += [(step.row.name, episode, step.house.house) for episode in portion.episodes]
    return made


def play(
    backend: GraphBackend, episode: Episode, house: House, ranker: str
) -> tuple[EpisodeTrace, RunResult]:
    """One task from start to verdict."""
    part = PLANNERS.get("et_agent")
    options = read_options(part.options, {"ranker": ranker})

    def make(task: Task) -> Planner:
        return part.make(PlannerRequest("et_agent", task, options=options))

    builder = TraceBuilder()
    result = prepare_graph(backend, house, episode, make, RunOptions(trace=builder)).run()
    made = traced(builder, episode, result, planner="et_agent", seed=episode.seed)
    return made, result


def words(traces: Sequence[EpisodeTrace]) -> str:
    """Success, length, LCS (ratio), distance."""
    found = {
        row.metric.name: row.estimate for row in summarise(traces, [metrics()[c] for c in COLUMNS])
    }
    success, length, lcs, ratio, distance = (found[column] for column in COLUMNS)
    interval = f"{100 * (success.low or 0):.0f}-{100 * (success.high or 0):.0f}"
    metres = "-" if distance.value is None else f"{distance.value:.1f}"
    return (
        f"{100 * (success.value or 0):.1f} % ({interval})  {length.value or 0:.2f}  "
        f"{lcs.value or 0:.2f} ({100 * (ratio.value or 0):.1f} %)  {metres} m"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--rankers", default="auto,random")
    parser.add_argument("--failures", type=int, default=0, help="failed tasks to print")
    options = parser.parse_args()
    made = tasks(options.tasks)
    # What is read once, such as the rules of language.
    play(GraphBackend(), made[0][1], made[0][2], "table")
    lines: list[tuple[str, str, str]] = []
    for ranker in options.rankers.split(","):
        traces: dict[str, list[EpisodeTrace]] = defaultdict(list)
        spent_s: dict[str, float] = defaultdict(float)
        source, left = "", options.failures
        backend = GraphBackend()
        for row, episode, house in made:
            begin = time.process_time()
            trace, result = play(backend, episode, house, ranker)
            spent_s[row] += time.process_time() - begin
            traces[row].append(trace)
            source = result.evidence.get("ranker_source", source)
            if not result.verdict.success and left > 0:
                left -= 1
                print(f"\n{row}: {episode.instruction}")
                print(f"  {result.outcome.text}; {result.verdict.explanation}")
                print("  true:", *(episode.criteria.reference_calls if episode.criteria else ()))
                print("  did:", *(f"{call.call}{'' if call.succeeded else f' FAILED {call.text}'}"
                                  for call in trace.calls))  # fmt: skip
        total_s = sum(spent_s.values())
        lines.append((f"{ranker}: {source}", "", ""))
        lines += [
            (f"  {row}", words(each), f"{1000 * spent_s[row] / len(each):.0f} ms")
            for row, each in traces.items()
        ]
        lines.append(
            (
                f"  all {len(made)} tasks, s of one core",
                f"{total_s:.1f}",
                f"{0.06 * len(made):.0f} s",
            )
        )
    print_table("success (interval), actions, LCS (ratio), metres; time of a task", lines)


if __name__ == "__main__":
    main()
