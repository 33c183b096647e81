"""Prints generated tasks of ET-Plan-Bench with what a reader needs to judge them by eye.

Equally many of each kind are drawn from the test houses.

Repeat with: python benchmarks/read_et_plan.py [--tasks N] [--seed N]
"""

from __future__ import annotations

import argparse
import random

from papers.et_plan_bench.generation.categories import Category, HomeSplit, homes
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Order, Row, generate
from planner.app.bodily_task_world import GraphTaskWorld
from planner.world.episode import Episode

ROWS = (*(Row(category) for category in Category), Row(Category.TWO_OBJECTS, arms=2))
# So many tasks are made for each one that is drawn.
POOL = 5


def described(episode: Episode, house: HouseTasks) -> str:
    """A task's text, the plan, and where everything it names is."""
    criteria, facts = episode.criteria, house.facts
    assert criteria is not None
    lines = [f"{episode.episode_id}: {episode.instruction}", "    plan: "]
    lines[1] += "; ".join(" ".join(step) for step in criteria.reference_plan)
    for letter, names in criteria.variables.items():
        for name in names[:6]:
            entity = facts.entities.get(name)
            if entity is None:
                lines.append(f"    {letter} {name}")
                continue
            where = f"{entity.relation} {entity.parent} " if entity.relation else ""
            size = " x ".join(f"{100 * side:.0f}" for side in entity.size_m)
            lines.append(f"    {letter} {name}: {where}in {entity.room}, {size} cm")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    world = GraphTaskWorld()
    houses = {
        home.name: HouseTasks(home.make(), "test", world, None) for home in homes(HomeSplit.TEST)
    }
    order = Order(tuple(houses.values()), ROWS, POOL * options.tasks, options.seed)
    made = [
        episode
        for _, portion in generate(order, lambda _step, _keys: None)
        for episode in portion.episodes
    ]
    drawn = random.Random(options.seed).sample(made, options.tasks)
    for number, episode in enumerate(drawn, start=1):
        print(f"{number}. {described(episode, houses[episode.house])}")


if __name__ == "__main__":
    main()
