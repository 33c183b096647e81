"""Who knows everything acts as the true plans of generated tasks do (ETPLAN-C39)."""

from __future__ import annotations

from functools import cache

import pytest

from planner.app.graph_run import prepare_graph
from planner.app.run_options import RunOptions
from planner.app.task_worlds import GraphTaskWorld
from planner.app.trace import ObservedTrace, traced
from planner.episodes.et_generation.categories import Category
from planner.episodes.et_generation.house_tasks import HouseTasks, Row
from planner.episodes.et_plan.homes import home_named
from planner.evaluation.metrics.et_plan_bench import criteria_success, lcs_ratio
from planner.evaluation.trace import EpisodeTrace
from planner.planning.planner_choice import PlannerChoice, make_planner
from planner.world.episode import Episode
from sim_bridge.graph.backend import GraphBackend

FULL = PlannerChoice("et_agent", options={"prior": "G"})


@cache
def house_tasks() -> HouseTasks:
    return HouseTasks(home_named("et_test_1").make(), "test", GraphTaskWorld(), None)


def made(category: Category) -> list[Episode]:
    """Tasks in which the way to whatever the words may mean leads by the same room and doors."""
    tasks = house_tasks()
    found = tasks.make(Row(category), 25, "39", set(), 0).episodes
    return [one for one in found if all(map(on_one_way, variables(one).values()))]


def variables(episode: Episode) -> dict[str, tuple[str, ...]]:
    assert episode.criteria is not None
    return dict(episode.criteria.variables)


def on_one_way(names: tuple[str, ...]) -> bool:
    facts = house_tasks().facts
    return len({(facts.room_of(name), *facts.closed_around(name)) for name in names}) == 1


def played(episode: Episode) -> EpisodeTrace:
    builder = ObservedTrace()
    run = prepare_graph(
        GraphBackend(),
        house_tasks().house,
        episode,
        lambda task: make_planner(FULL, task, None),
        RunOptions(trace=builder, all_known=True),
    )
    return traced(builder, episode, run.run(), planner="et_agent", seed=0, acting=("agent_0",))


@pytest.mark.parametrize("category", Category)
def test_check_39_who_knows_everything_follows_the_true_plan(category: Category) -> None:
    """ETPLAN-C39: no look, and all actions of the plan in its order."""
    episodes = made(category)
    assert len(episodes) >= 3
    for episode in episodes:
        trace = played(episode)
        assert criteria_success(trace).value == 1.0
        assert lcs_ratio(trace).value == 1.0, episode.instruction
        assert not [one for one in trace.calls if one.call.startswith(("LookRound", "Explore"))]
