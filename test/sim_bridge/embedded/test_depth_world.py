"""Depth pictures in C are those of the renderers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.world.agents import default_bodies
from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.primitive import Drive
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.depth_world import DepthView, DepthWorld, free_point
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.renderer import RayRenderer
from sim_bridge.embedded.sensing import View, camera_on_base, intrinsics_of


@pytest.mark.parametrize("ceiling", [True, False])
def test_a_picture_is_that_of_rays(
    small_house: House, small_episode: Episode, ceiling: bool
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    world, scene = backend._loaded(), backend._synced_scene()
    mount = default_bodies()[AgentKind.ROBOT].cameras["hand"]
    small = mount.model_copy(update={"width_px": 32, "height_px": 24})
    agent, drawn, rays = world.agents["agent_0"], DepthView(scene), RayRenderer()
    rng = np.random.default_rng(0)
    met = 0
    for pan in np.linspace(-math.pi, math.pi, 12):
        x, y, _ = free_point(world.ground.grid(0.28), rng)
        # From inside of a shape renderers differ, so that the camera is on free floor.
        near = Pose.planar(x, y, float(pan))
        ahead_m = near.apply((1.2, 0.0, 0.0))
        world.move_agent(world.agents["agent_1"], ahead_m[0], ahead_m[1], 0.0)
        view = View(
            pose=near.compose(camera_on_base(agent, "hand", small)),
            intrinsics=intrinsics_of(small),
            near_m=small.near_m,
            far_m=8.0,
            hidden=agent.instance_id,
            ceiling=ceiling,
        )
        ours, theirs = drawn.draw(view), rays.render(scene, view)
        met += int((theirs.instances == world.agents["agent_1"].instance_id).any())
        # Rays may pass on either side of an edge.
        unlike = np.abs(ours - theirs.depth_m) > 1e-3
        assert unlike.mean() < 0.004, pan
        hidden = drawn.draw(replace(view, hidden=-1))
        assert hidden.shape == (24, 32)
    assert met > 0, "no picture shows the other agent, whose parts are round"


def test_a_depth_world_moves_and_sees_as_the_backend(small_house: House) -> None:
    world = DepthWorld(small_house, AgentKind.ROBOT, "hand", 64)
    rng = np.random.default_rng(1)
    x, y, _ = free_point(world.grid, rng)
    world.place(x, y, 0.3)
    before = world.depth()
    assert before.shape == (64, 64)
    assert (before > 0).any()
    free = world.drive(Drive(0.3, forward_m_s=0.0, turn_rad_s=1.0))
    assert free
    assert world.base.yaw_rad == pytest.approx(0.6)
    assert world.base.position_m[:2] == pytest.approx((x, y))
    assert not np.array_equal(before, world.depth())
    steps = [world.drive(Drive(0.3, forward_m_s=0.8)) for _ in range(60)]
    assert not all(steps), "the small house is less than 14 m long"
    assert world.grid.is_free(*world.base.position_m[:2])
