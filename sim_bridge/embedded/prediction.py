"""Predicts agents and moving things, and for how long they do not affect one another."""

from __future__ import annotations

import math
from collections.abc import Iterable

from planner.world.geometry import Box, Vec3, wrap_angle_rad
from planner.world.vocabulary import Hand, hand_holding
from sim_bridge.embedded.entities import Agent, Leg, Piece, Stance, Thing
from sim_bridge.embedded.world import AGENT_GAP_M, KinematicWorld


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


# For how long agents certainly do not affect one another, so that one long step is exact.

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


# Bounds of carried, opened and closed things in the near future.

# For rounding, and steps that end where the next one begins.
_SLACK_M = 1e-3


def carried_bounds(world: KinematicWorld, agent: Agent, seconds: float) -> dict[str, Box]:
    """Boxes of the map in which carried things stay if the agent continues for some seconds.

    The agent walks its remaining path, or stays where it is and turns or looks around.
    """
    boxes: dict[str, Box] = {}
    for name in agent.held:
        hand = agent.hand_in_base(hand_holding(agent.hands, name) or Hand.RIGHT)
        held = world.things[name]
        for thing in world.with_load(held):
            boxes[thing.name] = _bounds(agent, hand, held, thing, seconds)
    return boxes


def _bounds(agent: Agent, hand: Vec3, held: Thing, thing: Thing, seconds: float) -> Box:
    """Bounds of the held thing, or of one in or on it."""
    arm_m = math.hypot(hand[0], hand[1])
    apart_m = math.hypot(thing.x_m - held.x_m, thing.y_m - held.y_m)
    around_m = apart_m + math.hypot(thing.size_m[0], thing.size_m[1]) / 2 + _SLACK_M
    if agent.remaining_path:
        points, sway_m = _walked(agent, hand, arm_m, seconds)
    else:
        points = [agent.to_map(hand)[:2]]
        fastest_rad_s = max(agent.body.turn_speed_rad_s, agent.body.look_speed_rad_s)
        # It turns or looks around, one after the other: the chord of the arc.
        sway_m = 2 * arm_m * math.sin(min(fastest_rad_s * seconds, math.pi) / 2)
    xs, ys = zip(*points, strict=True)
    half_m = thing.size_m[2] / 2 + _SLACK_M
    middle_m = hand[2] + thing.center_m[2] - held.center_m[2]
    return Box(
        (min(xs) - sway_m - around_m, min(ys) - sway_m - around_m, middle_m - half_m),
        (max(xs) + sway_m + around_m, max(ys) + sway_m + around_m, middle_m + half_m),
    )


def moving_furniture_bounds(world: KinematicWorld, piece: Piece, joint: str) -> dict[str, Box]:
    """Boxes of a piece of furniture with a moving joint, and of everything that moves along.

    Without drawers nothing in it moves, and nothing is on its doors.
    """
    record = piece.record.joint(joint)
    if all(other.kind != "slide" for other in piece.record.joints):
        return {}
    x0, y0, x1, y1 = world.ground.swept(piece.name)
    # As high as all rooms: doors do not affect what is above or below.
    boxes = {piece.name: Box((x0, y0, 0.0), (x1, y1, math.inf))}
    if record.kind != "slide":
        return boxes
    ways = [share * record.travel for share in (-piece.opening[joint], 1.0 - piece.opening[joint])]
    for hollow in piece.record.interiors:
        if hollow.joint != joint or not hollow.moves:
            continue
        resting = world.resting_on(piece.name, hollow.name)
        loads = [load for thing in resting for load in world.contents(thing)]
        for thing in (*resting, *loads):
            box = Box.around(thing.center_m, thing.size_m, thing.yaw_rad)
            ends = [_shifted(box, piece.turned(_scaled(record.axis, way))) for way in ways]
            boxes[thing.name] = _around(ends)
    return boxes


def _scaled(axis: Vec3, length: float) -> Vec3:
    return (axis[0] * length, axis[1] * length, axis[2] * length)


def _shifted(box: Box, by: Vec3) -> Box:
    low, high = box.minimum_m, box.maximum_m
    return Box(
        (low[0] + by[0], low[1] + by[1], low[2] + by[2]),
        (high[0] + by[0], high[1] + by[1], high[2] + by[2]),
    )


def _around(boxes: list[Box]) -> Box:
    lows, highs = [box.minimum_m for box in boxes], [box.maximum_m for box in boxes]
    x0, y0, z0 = (min(low[i] for low in lows) - _SLACK_M for i in range(3))
    x1, y1, z1 = (max(high[i] for high in highs) + _SLACK_M for i in range(3))
    return Box((x0, y0, z0), (x1, y1, z1))


def _walked(
    agent: Agent, hand: Vec3, arm_m: float, seconds: float
) -> tuple[list[tuple[float, float]], float]:
    """The hand's positions at the corners of the path, and how far arcs between them deviate."""
    at, yaw, bulge_m = (agent.x_m, agent.y_m), agent.yaw_rad, 0.0
    points = [_swung(at, yaw, hand), at]
    for corner in agent.remaining_path:
        gap_m = math.dist(at, corner)
        if gap_m < 1e-9:
            continue
        heading = math.atan2(corner[1] - at[1], corner[0] - at[0])
        turn = abs(wrap_angle_rad(heading - yaw))
        bulge_m = max(bulge_m, arm_m * (1.0 - math.cos(turn / 2)))
        walked_m = min(gap_m, agent.body.speed_m_s * seconds)
        share = walked_m / gap_m
        ahead = (at[0] + (corner[0] - at[0]) * share, at[1] + (corner[1] - at[1]) * share)
        # In front of furniture it is drawn in towards the body.
        points += [_swung(at, heading, hand), _swung(ahead, heading, hand), at, ahead]
        seconds -= turn / agent.body.turn_speed_rad_s + gap_m / agent.body.speed_m_s
        if seconds <= 0:
            return points, bulge_m
        at, yaw = corner, heading
    # After the last corner it turns towards the target.
    return points, 2 * arm_m


def _swung(at: tuple[float, float], yaw: float, hand: Vec3) -> tuple[float, float]:
    c, s = math.cos(yaw), math.sin(yaw)
    return (at[0] + hand[0] * c - hand[1] * s, at[1] + hand[0] * s + hand[1] * c)
