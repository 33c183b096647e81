"""Tasks whose plans are carried out by bodies, over simulated time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from papers.et_plan_bench.generation.categories import Category, home_named
from papers.et_plan_bench.generation.house_tasks import HouseTasks, Row
from planner.app.bodily_task_world import BodilyTaskWorld, play_with_body
from planner.cli import main
from planner.world.house_checks import load_episode
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.options import HabitatOptions

from .toy_graph import toy_house

STAND_IN = Path(__file__).parents[3] / "sim_bridge" / "habitat" / "stand_in.py"


@pytest.mark.slow
def test_the_embedded_simulator_keeps_what_a_body_can_do(tmp_path: Path) -> None:
    command = ["episodes", "generate", "et-plan", "--world", "embedded", "--house", "et_train_0"]
    arguments = ["--category", "manipulation", "--count", "2", "-o", str(tmp_path / "out")]
    assert main([*command, *arguments]) == 0
    paths = sorted((tmp_path / "out").glob("*.json"))
    assert len(paths) == 2
    for path in paths:
        assert play_with_body(*load_episode(path)) == ""


@pytest.mark.slow
def test_habitat_carries_plans_out(tmp_path: Path) -> None:
    """With a stand-in for habitat-sim, which walks in straight lines."""
    options = HabitatOptions(python=sys.executable, cache=str(tmp_path), answer_timeout_s=20.0)
    world = BodilyTaskWorld("habitat", HabitatBackend(options, worker=STAND_IN))
    try:
        tasks = HouseTasks(home_named("et_test_0").make(), "test", world, None)
        portion = tasks.make(Row(Category.TWO_OBJECTS, arms=2), 1, "2", set(), 0)
        assert len(portion.episodes) == 1
    finally:
        world.close()


@pytest.mark.parametrize("house", ["graph"])
def test_a_scene_graph_is_for_the_graph_world(house: str) -> None:
    from planner.world.errors import PlannerError
    from sim_bridge.embedded.backend import EmbeddedBackend
    from sim_bridge.embedded.options import EmbeddedOptions

    world = BodilyTaskWorld("embedded", EmbeddedBackend(EmbeddedOptions(renderer="none")))
    try:
        tasks = HouseTasks(toy_house(), "none", world, None)
        with pytest.raises(PlannerError, match=f"has no scene {house}s; use --world graph"):
            tasks.make(Row(Category.NAVIGATION), 1, "1", set(), 0)
    finally:
        world.close()
