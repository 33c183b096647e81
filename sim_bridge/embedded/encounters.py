"""For how long agents certainly do not affect one another, so that one long step is exact."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sim_bridge.embedded.entities import Agent, Leg
from sim_bridge.embedded.prediction import first_within_s, legs
from sim_bridge.embedded.world import AGENT_GAP_M

# Nearer than this to touching, one may have to make way for another.
CLOSE_M = 0.3
# An agent this much farther from another's path than touching need not make way.
CLEAR_OF_WAY_M = 0.2
# Upper bound of the world's steps.
STEP_S = 1 / 30
# Rounding error of summed times.
TIME_TOLERANCE_S = 1e-6


def undisturbed_s(agents: Iterable[Agent], horizon_s: float) -> float:
    """For how long no walking agent gets into another's way; at most `horizon_s`."""
    near = list(agents)
    for index, agent in enumerate(near):
        if not agent.remaining_path or agent.pause_s > TIME_TOLERANCE_S:
            continue
        way = legs(agent, horizon_s)
        for other in near[:index]:
            # If both are walking, the first one's iteration covered the pair.
            if not other.remaining_path or other.pause_s > TIME_TOLERANCE_S:
                horizon_s = min(horizon_s, undisturbed_by_s(agent, way, other, horizon_s))
        for other in near[index + 1 :]:
            horizon_s = min(horizon_s, undisturbed_by_s(agent, way, other, horizon_s))
    return horizon_s


def undisturbed_by_s(agent: Agent, way: list[Leg], other: Agent, horizon_s: float) -> float:
    """For how long a walking agent goes on as if another were not there.

    Args:
        agent: walks its remaining path.
        way: the legs of that path.
        other: if idle, it may make way when the agent comes close; if it walks or works, only
            contact matters.
        horizon_s: upper bound of the result.
    """
    gap_m = math.hypot(other.x_m - agent.x_m, other.y_m - agent.y_m) - clear_m(agent, other)
    closing_speed_m_s = agent.body.speed_m_s + other.body.speed_m_s
    undisturbed_s = (gap_m - CLOSE_M) / closing_speed_m_s
    if undisturbed_s >= horizon_s:
        return undisturbed_s
    # One takes a step before the other takes its own.
    step_m = max(agent.body.speed_m_s, other.body.speed_m_s) * STEP_S
    near_m = clear_m(agent, other) + step_m
    if not other.busy and not other.remaining_path:
        at_m = (other.x_m, other.y_m)
        if gap_to_way_m(agent, at_m) > clear_m(agent, other) + CLEAR_OF_WAY_M:
            return horizon_s
        near_m += CLOSE_M
    known_s = first_within_s(way, legs(other, horizon_s), near_m, horizon_s)
    # A step that would start just before they meet is too long.
    return math.floor(known_s / STEP_S + 1e-6) * STEP_S if known_s < horizon_s else known_s


def gap_to_way_m(walker: Agent, point_m: tuple[float, float]) -> float:
    """Distance of a point from the rest of a walker's path, from its current position."""
    x, y = point_m
    x0, y0 = walker.x_m, walker.y_m
    nearest_m = math.hypot(x0 - x, y0 - y)
    for x1, y1 in walker.remaining_path:
        dx, dy = x1 - x0, y1 - y0
        square = dx * dx + dy * dy
        if square > 0.0:
            share = max(0.0, min(1.0, ((x - x0) * dx + (y - y0) * dy) / square))
            gap_m = math.hypot(x0 + share * dx - x, y0 + share * dy - y)
            nearest_m = min(nearest_m, gap_m)
        x0, y0 = x1, y1
    return nearest_m


def clear_m(agent: Agent, other: Agent) -> float:
    """Minimum distance between the centres of two agents."""
    return agent.body.radius_m + other.body.radius_m + AGENT_GAP_M
