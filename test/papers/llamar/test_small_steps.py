"""The body moved step by step: 0.25 m, 90 degrees, the camera's tilt."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from skill_world import World

from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.skill import SkillCode

MakeWorld = Callable[..., World]


def pose(world: World, agent: str = "agent_0") -> Pose:
    return world.backend.observe(agent, ()).base


def with_starts(episode: Episode, *starts: tuple[float, float, float]) -> Episode:
    agents = tuple(
        agent.model_copy(update={"start": start})
        for agent, start in zip(episode.agents, starts, strict=True)
    )
    return episode.model_copy(update={"agents": agents})


def test_llamar_check_25_a_step_is_a_quarter_of_a_metre(world: World) -> None:
    """LLAMAR-C25."""
    start = pose(world)
    assert world.run("Move[Ahead]").succeeded
    ahead = pose(world)
    assert ahead.position_m[0] - start.position_m[0] == pytest.approx(0.25, abs=1e-6)
    assert ahead.position_m[1] == pytest.approx(start.position_m[1], abs=1e-6)
    for call in ("Rotate[Right]", "Rotate[Right]"):
        assert world.run(call).succeeded
    turned = pose(world)
    assert abs(math.remainder(turned.yaw_rad - ahead.yaw_rad, math.tau)) == pytest.approx(math.pi)
    assert math.dist(turned.position_m, ahead.position_m) < 1e-6


@pytest.mark.parametrize(
    ("direction", "dx", "dy"),
    [("Ahead", 0.25, 0.0), ("Back", -0.25, 0.0), ("Left", 0.0, 0.25), ("Right", 0.0, -0.25)],
)
def test_a_step_to_any_side_keeps_the_heading(
    world: World, direction: str, dx: float, dy: float
) -> None:
    start = pose(world)
    assert world.run(f"Move[{direction}]").succeeded
    end = pose(world)
    moved = (end.position_m[0] - start.position_m[0], end.position_m[1] - start.position_m[1])
    assert moved == pytest.approx((dx, dy), abs=1e-6)
    assert end.yaw_rad == pytest.approx(start.yaw_rad, abs=1e-6)


def test_ten_steps_add_up(world: World) -> None:
    start = pose(world)
    for call in ["Move[Ahead]"] * 5 + ["Move[Back]"] * 5:
        assert world.run(call).succeeded
    assert math.dist(pose(world).position_m, start.position_m) < 1e-6


def test_a_step_against_a_wall_is_a_collision(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    episode = with_starts(small_episode, (0.45, 2.0, math.pi), (6.0, 2.0, math.pi))
    world = make_world(episode=episode)
    start = pose(world)
    result = world.run("Move[Ahead]")
    assert result.code is SkillCode.BLOCKED
    assert math.dist(pose(world).position_m, start.position_m) < 1e-6


def test_a_step_onto_another_agent_is_a_collision(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    episode = with_starts(small_episode, (1.5, 2.0, 0.0), (2.15, 2.0, math.pi))
    world = make_world(episode=episode)
    result = world.run("Move[Ahead]")
    assert result.code is SkillCode.BLOCKED
    assert math.dist(pose(world).position_m, (1.5, 2.0, 0.0)) < 0.1


def tilt_deg(world: World) -> float:
    """Of the camera, down positive."""
    optical = world.backend.observe("agent_0", ()).optical["hand"]
    return -math.degrees(math.asin(float(optical.rotation()[2, 2])))


def test_the_camera_is_tilted_step_by_step_and_levelled_by_a_walk(world: World) -> None:
    rest = tilt_deg(world)
    assert world.run("LookDown[30]").succeeded
    assert tilt_deg(world) == pytest.approx(rest + 30, abs=0.1)
    assert world.run("LookUp[60]").succeeded
    assert tilt_deg(world) == pytest.approx(rest - 30, abs=0.1)
    assert world.run("LookUp[180]").succeeded
    assert tilt_deg(world) == pytest.approx(-90, abs=0.1)
    assert world.run("LookUp[30]").code is SkillCode.BLOCKED
    assert world.run("Move[Ahead]").succeeded
    assert tilt_deg(world) == pytest.approx(rest, abs=0.1)
    assert world.run("LookDown[30]").succeeded
    assert tilt_deg(world) == pytest.approx(rest + 30, abs=0.1)


@pytest.mark.parametrize(
    "call", ["Move[Up]", "Rotate[Ahead]", "LookUp[45]", "LookDown[]", "LookUp[90 degrees]"]
)
def test_other_values_are_refused_in_no_time(world: World, call: str) -> None:
    """LLAMAR-C26: 45 degrees are not admissible."""
    result = world.run(call)
    assert result.code is SkillCode.WRONG_ARGUMENTS
    assert "Expected one of" in result.text
    assert world.backend.now_s() == 0
