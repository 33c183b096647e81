"""Who knows everything acts as the true plans of generated tasks do (ETPLAN-C39)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from papers.et_plan_bench.generation.categories import Category, home_named
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Order, Row, generate
from papers.et_plan_bench.metrics import criteria_success, lcs_ratio
from planner.app.bodily_task_world import GraphTaskWorld
from planner.app.embedded_run import prepare_graph
from planner.app.run import ObservedTrace, traced
from planner.app.run_options import RunOptions
from planner.episodes.episode_file import read_pack
from planner.evaluation.trace import EpisodeTrace
from planner.planning.part import PlannerChoice, make_planner
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.share import config_dir
from sim_bridge.graph.backend import GraphBackend

FULL = PlannerChoice("et_agent", options={"prior": "G"})
# All categories and variants; occlusion is a mark on some of these.
ROWS = (
    *(Row(category) for category in Category),
    Row(Category.NAVIGATION, "FP"),
    Row(Category.MANIPULATION, "FP"),
    Row(Category.TWO_OBJECTS, arms=2),
    *(Row(category, opening=True) for category in (Category.MANIPULATION, Category.TWO_OBJECTS)),
)


@cache
def house_tasks(name: str) -> HouseTasks:
    return HouseTasks(home_named(name).make(), "test", GraphTaskWorld(), None)


def made(
    rows: tuple[Row, ...], count: int, seed: int, *names: str
) -> Iterator[tuple[Episode, House]]:
    order = Order([house_tasks(name) for name in names], rows, count, seed)
    for step, portion in generate(order, lambda _step, _keys: None):
        yield from ((episode, step.house.house) for episode in portion.episodes)


def played(episode: Episode, house: House) -> EpisodeTrace:
    builder = ObservedTrace()
    run = prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: make_planner(FULL, task, None),
        RunOptions(trace=builder, all_known=True),
    )
    return traced(builder, episode, run.run(), planner="et_agent", seed=0, acting=("agent_0",))


def others(tasks: Iterator[tuple[Episode, House]]) -> tuple[int, list[str]]:
    """The number of tasks, and those in which something else was done than in the true plan."""
    number, found = 0, list[str]()
    for episode, house in tasks:
        number += 1
        trace = played(episode, house)
        looked = [one for one in trace.calls if one.call.startswith(("LookRound", "Explore"))]
        if criteria_success(trace).value != 1.0 or lcs_ratio(trace).value != 1.0 or looked:
            assert episode.criteria is not None
            did = " ".join(one.call for one in trace.calls)
            true = " ".join(episode.criteria.reference_calls)
            found.append(f"{episode.episode_id}: {episode.instruction}\n  {did}\n  {true}")
    return number, found


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}{'-opening' * row.opening}")
def test_check_39_who_knows_everything_follows_the_true_plan(row: Row) -> None:
    """ETPLAN-C39: no look, and all actions of the plan in its order."""
    number, wrong = others(made((row,), 4, 39, "et_test_1", "et_test_6"))
    assert number == 4
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("every", [100, pytest.param(5, marks=pytest.mark.nightly)])
def test_check_39_holds_for_tasks_of_the_suite(every: int) -> None:
    """Some tasks of the suite, and those in which a map once made another walk the least."""
    pack = read_pack(config_dir() / "suites" / "et_plan.json.gz")
    houses = {house.name: house for house in pack.houses}
    once = {"et_test_0-navigation-map-0019", "et_test_6-manipulation-map-0008"}
    chosen = [one for one in pack.episodes[::every] if one.episode_id not in once]
    chosen += [one for one in pack.episodes if one.episode_id in once]
    number, wrong = others((episode, houses[episode.house]) for episode in chosen)
    assert number >= 2000 // every
    assert not wrong, "\n".join(wrong)
