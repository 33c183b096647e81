"""For how long agents surely take no notice of one another, so that a long step will do."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planner.world.geometry import wrap_angle_rad
from sim_bridge.embedded.entities import Agent
from sim_bridge.embedded.world import AGENT_GAP_M

# Nearer than this to touching, one may have to make way for another.
CLOSE_M = 0.3
# No step is longer, so that what comes later need not be reckoned.
LOOK_AHEAD_S = 1.0
# Ways are compared at moments as near to each other as the world's steps.
_MOMENT_S = 1 / 30


def alone_s(agent: Agent, other: Agent, most_s: float) -> float:
    """For how long a walking agent goes on as if another were not there.

    Args:
        agent: it walks its remaining path.
        other: where it is idle, it may make way when one comes close; where it walks or works
            on something, only touching it would matter.
        most_s: more than this need not be known.
    """
    gap_m = math.hypot(other.x_m - agent.x_m, other.y_m - agent.y_m) - clear_m(agent, other)
    fastest_m_s = agent.body.speed_m_s + other.body.speed_m_s
    apart_s = (gap_m - CLOSE_M) / fastest_m_s
    if apart_s >= min(most_s, LOOK_AHEAD_S) or not other.busy:
        return apart_s
    # Each takes a step before the other has taken its own.
    spare_m = fastest_m_s * _MOMENT_S
    touching_m = clear_m(agent, other) + spare_m
    if gap_m < spare_m:
        return 0.0
    moments = max(1, math.ceil(min(most_s, LOOK_AHEAD_S) / _MOMENT_S))
    ways = zip(_places(agent, moments), _places(other, moments), strict=True)
    for number, ((x, y), (other_x, other_y)) in enumerate(ways):
        if math.hypot(other_x - x, other_y - y) < touching_m:
            return number * _MOMENT_S
    return moments * _MOMENT_S


def clear_m(agent: Agent, other: Agent) -> float:
    """How far apart the middles of two agents stay."""
    return agent.body.radius_m + other.body.radius_m + AGENT_GAP_M


def way_s(agent: Agent, corners: list[tuple[float, float]]) -> float:
    """How long it takes to turn to and walk along the corners."""
    at, yaw, seconds = (agent.x_m, agent.y_m), agent.yaw_rad, 0.0
    for corner in corners:
        gap = math.dist(at, corner)
        if gap >= 1e-9:
            heading = math.atan2(corner[1] - at[1], corner[0] - at[0])
            seconds += abs(wrap_angle_rad(heading - yaw)) / agent.body.turn_speed_rad_s
            seconds += gap / agent.body.speed_m_s
            at, yaw = corner, heading
        if seconds > LOOK_AHEAD_S:
            break
    return seconds


def _places(agent: Agent, moments: int) -> Iterator[tuple[float, float]]:
    """Where an agent is after so many moments, going on as it does."""
    at, yaw = (agent.x_m, agent.y_m), agent.yaw_rad
    corners = iter(agent.remaining_path)
    # Of the piece of way under way: seconds of turning left, then of walking, and its velocity.
    turn_s = walk_s = speed_x = speed_y = 0.0
    end: tuple[float, float] | None = at
    for _ in range(moments):
        left_s = _MOMENT_S
        while left_s > 0 and end is not None:
            if turn_s > 0:
                used_s = min(turn_s, left_s)
                turn_s, left_s = turn_s - used_s, left_s - used_s
            elif walk_s > 0:
                used_s = min(walk_s, left_s)
                at = (at[0] + speed_x * used_s, at[1] + speed_y * used_s)
                walk_s, left_s = walk_s - used_s, left_s - used_s
            else:
                at, end = end, next(corners, None)
                gap_m = 0.0 if end is None else math.dist(at, end)
                if end is not None and gap_m >= 1e-9:
                    heading = math.atan2(end[1] - at[1], end[0] - at[0])
                    turn_s = abs(wrap_angle_rad(heading - yaw)) / agent.body.turn_speed_rad_s
                    walk_s, yaw = gap_m / agent.body.speed_m_s, heading
                    speed_x, speed_y = (end[0] - at[0]) / walk_s, (end[1] - at[1]) / walk_s
        yield at
