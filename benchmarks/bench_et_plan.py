"""Speed of the generator of ET-Plan-Bench's tasks: made, carried out in the graph world and judged.

CPU seconds of one core, so that a busy machine gives about the same; houses are made before.

Repeat with: python benchmarks/bench_et_plan.py [--tasks N]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from machine import print_table

from papers.et_plan_bench.generation.categories import Category, HomeSplit, homes
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Order, Row, generate
from planner.app.bodily_task_world import GraphTaskWorld, play_reference
from planner.world.episode import Episode

ROWS = (
    *(Row(category) for category in Category),
    Row(Category.NAVIGATION, "FP"),
    Row(Category.MANIPULATION, "FP"),
    Row(Category.TWO_OBJECTS, arms=2),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=900)
    options = parser.parse_args()
    world = GraphTaskWorld()
    houses = [HouseTasks(home.make(), "test", world, None) for home in homes(HomeSplit.TEST)]
    made: list[tuple[HouseTasks, Episode]] = []
    spent_s: Counter[str] = Counter()
    count: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    begin = time.process_time()
    for step, portion in generate(
        Order(houses, ROWS, options.tasks, seed=1), lambda _step, _keys: None
    ):
        made += [(step.house, episode) for episode in portion.episodes]
        rejected.update(portion.rejected)
        now = time.process_time()
        spent_s[step.row.name] += now - begin  # type: ignore[assignment]
        count[step.row.name] += len(portion.episodes)
        begin = now
    done = sum(not play_reference(episode, house.house) for house, episode in made)
    print_table(
        "Tasks of ET-Plan-Bench, generated and verified, by seconds of one core",
        [
            ("tasks a second", f"{len(made) / sum(spent_s.values()):,.0f}", "100"),
            ("tasks", f"{len(made)}", f"{options.tasks}"),
            ("of these done by their plan, played again", f"{done}", f"{len(made)}"),
            *((f"{row}: tasks a second", f"{n / spent_s[row]:,.0f}", "-")
              for row, n in count.items()),
            *((f"rejected: {why}", f"{n}", "-") for why, n in rejected.most_common()),
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
