"""Planners that need no server do generated ET-Plan-Bench tasks, in the graph world."""

from __future__ import annotations

from functools import cache

import pytest

from planner.app.graph_run import prepare_graph
from planner.app.run import RunResult
from planner.app.task_worlds import GraphTaskWorld
from planner.episodes.et_generation.categories import Category
from planner.episodes.et_generation.generating import Order, generate
from planner.episodes.et_generation.house_tasks import HouseTasks, Row
from planner.episodes.et_plan.homes import HomeSplit, homes
from planner.planning.planner_choice import PlannerChoice, make_planner
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.graph.backend import GraphBackend

# Those that need neither a server nor full observability.
ALONE = ("et_agent", "expert", "learned", "words")


@cache
def made() -> tuple[Episode, House]:
    home = next(iter(homes(HomeSplit.TEST)))
    house = HouseTasks(home.make(), "test", GraphTaskWorld(), None)
    order = Order([house], (Row(Category.MANIPULATION),), 1, seed=1)
    for step, portion in generate(order, lambda _step, _keys: None):
        if portion.episodes:
            return portion.episodes[0], step.house.house
    raise AssertionError("nothing was generated")


def played(name: str) -> RunResult:
    episode, house = made()
    return prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: make_planner(PlannerChoice(name), task, None),
    ).run()


@pytest.mark.parametrize("name", ALONE)
def test_a_generated_task_is_done(name: str) -> None:
    result = played(name)
    assert result.verdict.success, result.outcome.text
