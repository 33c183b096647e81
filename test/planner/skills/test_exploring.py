"""ExploreHouse, and skills on floor that the robot knows only from its own map."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from skill_world import World

from planner.app.in_process_world import BackendPort
from planner.planning.planner_inputs import full_belief
from planner.skills.executor import SkillExecutor
from planner.world.floor_map import FREE, UNKNOWN, FloorMap
from planner.world.house import House
from planner.world.skill import SkillCode, SkillResult

MakeWorld = Callable[..., World]


def on_map(world: World, house: House, known_to_x_m: float, call: str) -> SkillResult:
    """Carries out a call by a robot that knows the floor up to some x only."""
    x0, y0, x1, y1 = house.bounds_m
    cells = np.full((round((y1 - y0) / 0.05), round((x1 - x0) / 0.05)), UNKNOWN, np.int8)
    cells[:, : round((known_to_x_m - x0) / 0.05)] = FREE
    floor = FloorMap(cells, (x0, y0), 0.05)
    executor = SkillExecutor(
        house.layout,
        BackendPort(world.backend, "agent_0"),
        lambda: full_belief(world.state),
        floor=lambda: floor,
    )
    result = executor.start(call)
    while result is None:
        world.backend.step(1 / 30)
        result = executor.step()
    return result


def test_without_a_map_of_its_own_a_robot_cannot_explore(world: World) -> None:
    result = world.run("ExploreHouse[]")
    assert result.code is SkillCode.NOT_ABLE
    assert "map:=built" in result.text


def test_a_robot_stands_only_on_floor_that_its_map_shows(
    make_world: MakeWorld, small_house: House
) -> None:
    x0, _, x1, _ = small_house.bounds_m
    far = max(small_house.furniture, key=lambda piece: piece.x_m)
    call = f"Navigate[{far.name}]"
    assert on_map(make_world(), small_house, x1, call).succeeded
    unknown = on_map(make_world(), small_house, (x0 + far.x_m) / 2, call)
    assert unknown.code is SkillCode.UNREACHABLE


def test_a_map_that_nobody_updates_ends_exploring(
    make_world: MakeWorld, small_house: House
) -> None:
    result = on_map(make_world(), small_house, small_house.bounds_m[2], "ExploreHouse[]")
    assert result.code is SkillCode.BACKEND_FAULT
    assert "not updated" in result.text
