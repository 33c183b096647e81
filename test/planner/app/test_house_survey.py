"""Exploring unknown houses by depth images, against the true floor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from random_cases import by_day_each

from planner.api import run
from planner.app.house_tour import compared, survey
from planner.houses.generator import shipped_houses
from planner.memory.maps.occupancy import OccupancyOptions
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, UNKNOWN, FloorMap
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, Noise
from sim_bridge.opening import Opened


def explored(house: House, **noise: float):
    backend = EmbeddedBackend(EmbeddedOptions(instances=False, noise=Noise(**noise)))
    try:
        return survey(backend, house)
    finally:
        backend.close()


@pytest.mark.slow
def test_a_house_is_explored_and_exploring_ends(small_house: House) -> None:
    found = explored(small_house)
    assert found.result.succeeded
    assert found.coverage >= 0.95
    assert found.agreement >= 0.9
    assert found.walked_m > 1.0
    assert float(found.result.evidence["explored_m2"]) == pytest.approx(
        found.floor.explored_m2, abs=0.5
    )


def test_no_pictures_end_with_a_reason(small_house: House) -> None:
    found = explored(small_house, dropped_frames=1.0)
    assert found.result.code is SkillCode.BACKEND_FAULT
    assert "map was not updated" in found.result.text
    assert (found.pictures, found.coverage) == (0, 0.0)


def test_coverage_and_agreement_are_by_the_true_floor(small_house: House) -> None:
    start_m = explored(small_house, dropped_frames=1.0).path_m[0]
    x0, y0, x1, y1 = small_house.bounds_m
    shape = (int((y1 - y0) / 0.05), int((x1 - x0) / 0.05))
    everything = FloorMap(np.full(shape, FREE, np.int8), (x0, y0), 0.05)
    coverage, agreement = compared(small_house, everything, start_m, 0.28)
    assert coverage == pytest.approx(1.0)
    # Walls and furniture are no floor.
    assert agreement < 0.8
    nothing = FloorMap(np.full(shape, UNKNOWN, np.int8), (x0, y0), 0.05)
    assert compared(small_house, nothing, start_m, 0.28) == (0.0, 0.0)


@pytest.mark.slow
def test_a_run_explores_first_and_its_picture_shows_the_map(
    small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    robot, _ = small_episode.agents
    goal = {
        "function_name": "is_on_top",
        "args": {"objects": ["cup_0"], "receptacles": ["table_1"]},
    }
    episode = small_episode.model_copy(
        update={"agents": (robot,), "evaluation": {"propositions": [goal]}}
    )
    done = run(Opened(small_house, episode, 0), pictures=True, builds_map=True)
    assert done.verdict.success
    first, *_ = [event for event in done.result.events if event.result is not None]
    assert str(first.call) == "ExploreHouse[]"
    assert first.result is not None
    assert first.result.succeeded
    given = run(Opened(small_house, episode, 0), pictures=True)
    shaded, plain = (
        np.asarray(Image.open(each.draw(tmp_path / name)))
        for each, name in ((done, "built"), (given, "given"))
    )
    # What is beyond the walls is in shade.
    assert shaded.mean() < plain.mean() - 5


def test_a_map_is_not_built_without_pictures(small_house: House, small_episode: Episode) -> None:
    with pytest.raises(PlannerError, match="reads pictures"):
        run(Opened(small_house, small_episode, 0), builds_map=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", by_day_each(3, shipped_houses()), ids=lambda path: path.stem)
def test_every_shipped_house_is_explored_to_95_percent(path: Path) -> None:
    found = explored(load_house(path))
    assert found.result.succeeded
    assert found.coverage >= 0.95


@pytest.mark.slow
def test_noisy_depth_and_localisation_still_explore(small_house: House) -> None:
    found = explored(small_house, depth_m=0.01, position_m=0.01, heading_rad=0.005)
    assert found.result.succeeded
    assert found.coverage >= 0.9


@pytest.mark.slow
def test_options_of_the_map_are_passed_on(small_house: House) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(instances=False))
    try:
        found = survey(backend, small_house, OccupancyOptions(cell_m=0.1))
    finally:
        backend.close()
    assert found.floor.cell_m == 0.1
    assert found.coverage >= 0.9
