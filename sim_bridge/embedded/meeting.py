"""For how long agents surely take no notice of one another, so that a long step will do."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sim_bridge.embedded.entities import Agent, Leg
from sim_bridge.embedded.foreseen import first_within_s, legs
from sim_bridge.embedded.world import AGENT_GAP_M

# Nearer than this to touching, one may have to make way for another.
CLOSE_M = 0.3
# One that stands so much farther off than that from another's way need not make way for it.
CLEAR_OF_WAY_M = 0.2
# The world's steps are no longer than this.
MOMENT_S = 1 / 30
# Times add up to this.
EQUAL_S = 1e-6


def apart_s(agents: Iterable[Agent], most_s: float) -> float:
    """For how long none of those who walk gets into another's way; no more than `most_s`."""
    near = list(agents)
    for index, agent in enumerate(near):
        if not agent.remaining_path or agent.pause_s > EQUAL_S:
            continue
        way = legs(agent, most_s)
        for other in near[:index]:
            # Of two that walk on, the first has told of both.
            if not other.remaining_path or other.pause_s > EQUAL_S:
                most_s = min(most_s, alone_s(agent, way, other, most_s))
        for other in near[index + 1 :]:
            most_s = min(most_s, alone_s(agent, way, other, most_s))
    return most_s


def alone_s(agent: Agent, way: list[Leg], other: Agent, most_s: float) -> float:
    """For how long a walking agent goes on as if another were not there.

    Args:
        agent: it walks its remaining path.
        way: the legs of that.
        other: where it is idle, it may make way when one comes close; where it walks or works
            on something, only touching it would matter.
        most_s: more than this need not be known.
    """
    gap_m = math.hypot(other.x_m - agent.x_m, other.y_m - agent.y_m) - clear_m(agent, other)
    fastest_m_s = agent.body.speed_m_s + other.body.speed_m_s
    apart_s = (gap_m - CLOSE_M) / fastest_m_s
    if apart_s >= most_s:
        return apart_s
    # One takes a step before the other has taken its own.
    step_m = max(agent.body.speed_m_s, other.body.speed_m_s) * MOMENT_S
    near_m = clear_m(agent, other) + step_m
    if not other.busy and not other.remaining_path:
        at_m = (other.x_m, other.y_m)
        if gap_to_way_m(agent, at_m) > clear_m(agent, other) + CLEAR_OF_WAY_M:
            return most_s
        near_m += CLOSE_M
    known_s = first_within_s(way, legs(other, most_s), near_m, most_s)
    # A step that would only begin before they meet is too long.
    return math.floor(known_s / MOMENT_S + 1e-6) * MOMENT_S if known_s < most_s else known_s


def gap_to_way_m(walker: Agent, point_m: tuple[float, float]) -> float:
    """How near the rest of a walker's way comes to a point, from where it is now."""
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
    """How far apart the middles of two agents stay."""
    return agent.body.radius_m + other.body.radius_m + AGENT_GAP_M
