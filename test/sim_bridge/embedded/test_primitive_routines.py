"""Driving by velocities on the free floor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.app.in_process_world import BackendPort
from planner.world.episode import Episode
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.primitive import Drive, Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.primitive_routines import slid

STEP_S = 1 / 30


def grid() -> FloorGrid:
    """Two metres square, with a wall one cell thick at x = 1.0 to 1.1."""
    free = np.ones((20, 20), bool)
    free[:, 10] = False
    return FloorGrid(free, (0.0, 0.0), 0.1)


def test_free_floor_is_moved_over_as_far_as_told() -> None:
    moved = slid(grid(), (0.25, 1.0), 0.0, 0.5)
    assert moved == pytest.approx((0.75, 1.0, True))


def test_no_step_jumps_over_a_wall() -> None:
    moved = slid(grid(), (0.55, 1.0), 0.0, 1.2)
    assert moved.x_m < 1.0
    assert not moved.is_free


def test_it_slides_along_a_wall() -> None:
    moved = slid(grid(), (0.95, 0.5), math.pi / 4, 0.8)
    assert 0.9 < moved.x_m < 1.0
    assert moved.y_m == pytest.approx(0.5 + 0.8 * math.sqrt(0.5), abs=0.05)
    assert not moved.is_free


def test_the_edge_of_the_grid_is_an_edge_of_the_floor() -> None:
    moved = slid(grid(), (0.05, 0.05), math.pi, 0.5)
    assert 0.0 <= moved.x_m < 0.05
    assert not moved.is_free


def test_a_drive_of_a_port_moves_base_and_hand_for_its_time(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    port = BackendPort(backend, "agent_0")
    before = port.observe(())
    assert before is not None
    drive = Drive(0.4, forward_m_s=0.5, turn_rad_s=-0.5, pan_rad_s=1.0, tilt_rad_s=-0.25)
    handle = port.start(Primitive(PrimitiveName.DRIVE, drive=drive))
    backend.step(STEP_S)
    during = port.observe(())
    assert during is not None
    assert during.linear_m_s == pytest.approx(0.5)
    assert during.angular_rad_s == -0.5
    while port.poll(handle).result is None:
        backend.step(STEP_S)
    after = port.observe(())
    assert after is not None
    assert (after.linear_m_s, after.angular_rad_s) == (0.0, 0.0)
    assert after.stamp_s == pytest.approx(0.4)
    assert after.base.yaw_rad - before.base.yaw_rad == pytest.approx(-0.2)
    assert after.joints["hand_pan"] == pytest.approx(0.4)
    assert after.joints["hand_tilt"] == pytest.approx(before.joints["hand_tilt"] - 0.1)


def test_two_bodies_do_not_drive_into_each_other(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    world = backend._loaded()
    one, other = world.agents["agent_0"], world.agents["agent_1"]
    free = world.ground.grid(one.body.radius_m)
    x, y = next(
        (x, y)
        for x, y in free.free_points_m.tolist()
        if all(free.is_free(x + 0.1 * k, y) for k in range(15))
    )
    world.move_agent(one, x, y, 0.0)
    world.move_agent(other, x + 1.0, y, 0.0)
    handle = backend.start(
        "agent_0", Primitive(PrimitiveName.DRIVE, drive=Drive(1.0, forward_m_s=0.8))
    )
    while (result := backend.poll(handle).result) is None:
        backend.step(STEP_S)
    assert result.code is PrimitiveCode.SUCCESS
    assert float(result.evidence["blocked_s"]) > 0.2
    assert other.x_m - one.x_m >= one.body.radius_m + other.body.radius_m


def test_who_idles_makes_way_for_a_driven_body_as_for_one_that_walks(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    world = backend._loaded()
    one, other = world.agents["agent_0"], world.agents["agent_1"]
    free = world.ground.grid(one.body.radius_m)
    x, y = next(
        (x, y)
        for x, y in free.free_points_m.tolist()
        if all(free.is_free(x + 0.1 * k, y) for k in range(20))
    )
    world.move_agent(one, x, y, 0.0)
    world.move_agent(other, x + 1.0, y, 0.0)
    for _ in range(15):
        drive = Drive(0.3, forward_m_s=0.8)
        handle = backend.start("agent_0", Primitive(PrimitiveName.DRIVE, drive=drive))
        while backend.poll(handle).result is None:
            backend.step(STEP_S)
        assert one.remaining_path == [], "it stands still between drives"
    assert one.x_m > x + 1.0, "it is past where the other one stood"
    assert math.dist((one.x_m, one.y_m), (other.x_m, other.y_m)) > 0.56
