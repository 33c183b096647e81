"""Predicts agents that only continue what they do."""

from __future__ import annotations

import math

from planner.world.geometry import wrap_angle_rad
from sim_bridge.embedded.entities import Agent, Leg, Stance


def legs(agent: Agent, horizon_s: float) -> list[Leg]:
    """The legs of an agent's remaining path, at least up to `horizon_s`.

    One that does not walk has a single endless leg. The legs are cached until the agent moves,
    waits or changes its path: they are needed several times per step.
    """
    now = (agent.x_m, agent.y_m, agent.yaw_rad, agent.pause_s, *agent.remaining_path)
    known = agent.known_legs
    if known is None or known[0] != now or known[1] < horizon_s:
        known = agent.known_legs = (now, horizon_s, _legs(agent, horizon_s))
    return known[2]


def _legs(agent: Agent, horizon_s: float) -> list[Leg]:
    x, y, yaw, now_s = agent.x_m, agent.y_m, agent.yaw_rad, 0.0
    speed_m_s, turning_rad_s = agent.body.speed_m_s, agent.body.turn_speed_rad_s
    found: list[Leg] = []
    if agent.pause_s > 0 and agent.remaining_path:
        now_s = agent.pause_s
        found.append(Leg(0.0, now_s, (x, y), (0.0, 0.0), yaw, 0.0))
    for corner_x, corner_y in agent.remaining_path:
        dx, dy = corner_x - x, corner_y - y
        gap_m = math.hypot(dx, dy)
        if gap_m < 1e-9:
            continue
        heading = math.atan2(dy, dx)
        off = wrap_angle_rad(heading - yaw)
        if abs(off) > 1e-6:
            ends_s = now_s + abs(off) / turning_rad_s
            turn_rad_s = math.copysign(turning_rad_s, off)
            found.append(Leg(now_s, ends_s, (x, y), (0.0, 0.0), yaw, turn_rad_s))
            now_s = ends_s
        ends_s = now_s + gap_m / speed_m_s
        along = (dx / gap_m * speed_m_s, dy / gap_m * speed_m_s)
        found.append(Leg(now_s, ends_s, (x, y), along, heading, 0.0))
        x, y, yaw, now_s = corner_x, corner_y, heading, ends_s
        if now_s > horizon_s:
            return found
    if not agent.remaining_path:
        found.append(Leg(0.0, math.inf, (x, y), (0.0, 0.0), yaw, 0.0))
    return found


def predicted_stance(agent: Agent, seconds: float) -> Stance:
    """An agent's pose after some seconds in which it only continues.

    If `can_predict_stance` is False, only x and y are right.
    """
    if not agent.remaining_path:
        if agent.turns_to_rad is None and agent.points_to_rad is None:
            return agent.stance
        yaw, (pan, tilt) = predicted_heading(agent, seconds), predicted_view(agent, seconds)
        return Stance(agent.x_m, agent.y_m, yaw, pan, tilt)
    leg = next(leg for leg in reversed(legs(agent, seconds)) if leg.begins_s <= seconds)
    past_s = min(seconds, leg.ends_s) - leg.begins_s
    x, y = leg.at_m[0] + leg.speed_m_s[0] * past_s, leg.at_m[1] + leg.speed_m_s[1] * past_s
    yaw = wrap_angle_rad(leg.yaw_rad + leg.turn_rad_s * past_s)
    return Stance(x, y, yaw, agent.pan_rad, agent.tilt_rad)


def predicted_heading(agent: Agent, seconds: float) -> float:
    """The direction of an agent on the spot after some seconds."""
    if agent.turns_to_rad is None:
        return agent.yaw_rad
    max_turn_rad = agent.body.turn_speed_rad_s * seconds
    off_rad = wrap_angle_rad(agent.turns_to_rad - agent.yaw_rad)
    return wrap_angle_rad(agent.yaw_rad + max(-max_turn_rad, min(max_turn_rad, off_rad)))


def predicted_view(agent: Agent, seconds: float) -> tuple[float, float]:
    """Pan and tilt of an agent's hand after some seconds."""
    if agent.points_to_rad is None:
        return agent.pan_rad, agent.tilt_rad
    pan_rad, tilt_rad = agent.points_to_rad
    max_turn_rad = agent.body.look_speed_rad_s * seconds
    pan_off, tilt_off = wrap_angle_rad(pan_rad - agent.pan_rad), tilt_rad - agent.tilt_rad
    return (
        wrap_angle_rad(agent.pan_rad + max(-max_turn_rad, min(max_turn_rad, pan_off))),
        agent.tilt_rad + max(-max_turn_rad, min(max_turn_rad, tilt_off)),
    )


def can_predict_stance(agent: Agent) -> bool:
    """Whether an agent's complete pose can be predicted, including the end of its motion."""
    return (
        bool(agent.remaining_path)
        or agent.is_still
        or not agent.busy
        or agent.turns_to_rad is not None
        or agent.points_to_rad is not None
    )


def first_within_s(one: list[Leg], other: list[Leg], near_m: float, horizon_s: float) -> float:
    """When two paths first come nearer than this; the end of the known time if never.

    That is `horizon_s`, or the end of the path that ends first.
    """
    i = j = 0
    now_s = 0.0
    while i < len(one) and j < len(other) and now_s < horizon_s:
        a, b = one[i], other[j]
        until_s = min(a.ends_s, b.ends_s, horizon_s)
        met_s = _met_s(a, b, now_s, until_s, near_m)
        if met_s is not None:
            return met_s
        now_s = until_s
        i += a.ends_s <= now_s
        j += b.ends_s <= now_s
    return now_s


def _met_s(a: Leg, b: Leg, from_s: float, until_s: float, near_m: float) -> float | None:
    """When two legs first come nearer than this within an interval."""
    vx, vy = a.speed_m_s[0] - b.speed_m_s[0], a.speed_m_s[1] - b.speed_m_s[1]
    after_a, after_b = from_s - a.begins_s, from_s - b.begins_s
    rx = a.at_m[0] + a.speed_m_s[0] * after_a - b.at_m[0] - b.speed_m_s[0] * after_b
    ry = a.at_m[1] + a.speed_m_s[1] * after_a - b.at_m[1] - b.speed_m_s[1] * after_b
    square, half = vx * vx + vy * vy, rx * vx + ry * vy
    if rx * rx + ry * ry < near_m * near_m:
        # Moving apart is always allowed; but each moves while the other stands still.
        from_b = rx * a.speed_m_s[0] + ry * a.speed_m_s[1]
        from_a = -rx * b.speed_m_s[0] - ry * b.speed_m_s[1]
        return None if min(from_a, from_b) >= 0.0 else from_s
    if half >= 0.0:
        return None
    inner = half * half - square * (rx * rx + ry * ry - near_m * near_m)
    if inner <= 0.0:
        return None
    met_s = from_s + (-half - math.sqrt(inner)) / square
    return met_s if met_s < until_s else None
