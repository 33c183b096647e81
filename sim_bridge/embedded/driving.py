"""Driving by velocities: a unicycle on the free floor, which slides along what is in its way."""

from __future__ import annotations

import math
from typing import NamedTuple

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import wrap_angle_rad
from planner.world.primitive import Drive
from sim_bridge.embedded.entities import Agent
from sim_bridge.embedded.walking import nearer_to_another
from sim_bridge.embedded.world import KinematicWorld

# The hand's camera tilts at most straight down, and not behind the body.
MAX_TILT_RAD = math.pi / 2
# A longer piece of a step could jump over a wall.
_PIECE_M = 0.04
# So far straight ahead counts as the way of a driven body, off which idle ones step.
_AHEAD_M = 1.0


class Moved(NamedTuple):
    """Where a step ends, and whether it was free all the way."""

    x_m: float
    y_m: float
    is_free: bool


def drive_on(world: KinematicWorld, agent: Agent, drive: Drive, dt_s: float) -> bool:
    """Drives a body for `dt_s` seconds; False if something was in its way.

    It turns first and then moves, as far as the floor is free and no other agent is near. What it
    holds moves with it. Idle agents make way for it as for one that walks.
    """
    yaw = wrap_angle_rad(agent.yaw_rad + drive.turn_rad_s * dt_s)
    agent.pan_rad = wrap_angle_rad(agent.pan_rad + drive.pan_rad_s * dt_s)
    tilt = agent.tilt_rad + drive.tilt_rad_s * dt_s
    agent.tilt_rad = max(-MAX_TILT_RAD, min(MAX_TILT_RAD, tilt))
    way_m = drive.forward_m_s * dt_s
    start = (agent.x_m, agent.y_m)
    moved = slid(world.ground.grid(agent.body.radius_m), start, yaw, way_m)
    end, is_free = (moved.x_m, moved.y_m), moved.is_free
    if end != start:
        end = world.ground.stepped(agent.body.radius_m, start, end)
        if nearer_to_another(world, agent, *end):
            end, is_free = start, False
    agent.linear_m_s = math.copysign(math.dist(start, end) / dt_s, way_m)
    agent.angular_rad_s = drive.turn_rad_s
    world.move_agent(agent, *end, yaw)
    x, y = end
    ahead = (x + math.cos(yaw) * _AHEAD_M, y + math.sin(yaw) * _AHEAD_M)
    agent.remaining_path = [ahead] if way_m > 0.0 else []
    return is_free


def slid(grid: FloorGrid, start_m: tuple[float, float], yaw_rad: float, way_m: float) -> Moved:
    """Where a body gets that moves straight on; at an edge of the floor it slides along it.

    A body that does not stand on free floor may leave it, and moves within its cell.
    """
    x, y = start_m
    pieces = max(1, math.ceil(abs(way_m) / _PIECE_M))
    dx, dy = math.cos(yaw_rad) * way_m / pieces, math.sin(yaw_rad) * way_m / pieces
    is_free = True
    for _ in range(pieces):
        here = grid.cell(x, y)
        for step_x, step_y in ((dx, dy), (dx, 0.0), (0.0, dy)):
            cell = grid.cell(x + step_x, y + step_y)
            if cell is not None and (cell == here or grid.free.flat[cell]):
                x, y = x + step_x, y + step_y
                is_free &= (step_x, step_y) == (dx, dy)
                break
        else:
            return Moved(x, y, False)
    return Moved(x, y, is_free)
