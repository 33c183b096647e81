"""Explores an unknown house in this process, and compares the built map with the true floor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.app.house_tour import AGENT, STEP_S, STEPS_A_LOOK, tour_episode
from planner.app.in_process_world import BackendPort
from planner.memory.maps.occupancy import CAMERA, OccupancyMap, OccupancyOptions
from planner.skills.executor import SkillExecutor
from planner.world.belief import Belief
from planner.world.floor_grid import FloorGrid
from planner.world.floor_map import FREE, FloorMap
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.skill import SkillCall, SkillResult
from sim_bridge.embedded.backend import EmbeddedBackend


@dataclass(frozen=True, slots=True)
class Survey:
    """What exploring one house has come to.

    Attributes:
        result: of the skill.
        floor: the built map at the end.
        path_m: where the robot was at each picture.
        coverage: share of the reachable true floor that the map shows as free.
        agreement: share of the floor that the map lets the robot stand on where it truly can.
        walked_m: metres.
        seconds: on the world's clock.
        pictures: depth images in the map.
    """

    result: SkillResult
    floor: FloorMap
    path_m: tuple[Vec3, ...]
    coverage: float
    agreement: float
    walked_m: float
    seconds: float
    pictures: int


def survey(
    backend: EmbeddedBackend, house: House, options: OccupancyOptions | None = None
) -> Survey:
    """Puts a robot into a house and lets it explore until it ends by itself.

    The skill is given neither rooms nor furniture, only the map that the robot builds.

    Raises:
        PlannerError: if the backend has no pictures.
    """
    backend.reset(house, tour_episode(house), 0)
    capabilities = backend.capabilities(AGENT)
    built = OccupancyMap(backend.observe(AGENT, ()).base.position_m, options)
    path: list[Vec3] = []
    taken: list[float] = []

    def look() -> None:
        seen = backend.observe(AGENT, (CAMERA,))
        path.append(seen.base.position_m)
        if CAMERA in seen.cameras:
            built.stand(seen.base.position_m, capabilities.radius_m)
            built.update(seen.cameras[CAMERA], seen.stamp_s)
            taken.append(seen.stamp_s)

    look()
    unknown = house.model_copy(update={"objects": (), "furniture": (), "doors": ()})
    executor = SkillExecutor(
        unknown, BackendPort(backend, AGENT), lambda: Belief(0.0, 0, {}), floor=built.floor
    )
    result = executor.start(SkillCall("ExploreHouse", ()))
    steps = 0
    while result is None:
        backend.step(STEP_S)
        steps += 1
        if steps % STEPS_A_LOOK == 0:
            look()
        result = executor.step()
    floor = built.floor()
    coverage, agreement = compared(house, floor, path[0], capabilities.radius_m)
    walked_m = sum(math.dist(a, b) for a, b in pairwise(path))
    return Survey(
        result, floor, tuple(path), coverage, agreement, walked_m, backend.now_s(), len(taken)
    )


def compared(house: House, floor: FloorMap, start_m: Vec3, radius_m: float) -> tuple[float, float]:
    """Coverage and agreement of a built map, as in `Survey`, by the true layout."""
    true = FloorGrid.of(house, radius_m)
    label = true.component(start_m[0], start_m[1])
    reachable = np.flatnonzero(true.components == label)
    points = [true.point(int(cell)) for cell in reachable]
    covered = sum(floor.at((x, y, 0.0)) == FREE for x, y in points)
    walkable = floor.walkable(radius_m)
    here = walkable.nearest_free(start_m[0], start_m[1], within_m=1.0)
    if here is None or not points:
        return 0.0, 0.0
    stood = np.flatnonzero(walkable.components == walkable.components.flat[here])
    right = sum(true.is_free(*walkable.point(int(cell))) for cell in stood)
    return covered / len(points), right / max(1, len(stood))
