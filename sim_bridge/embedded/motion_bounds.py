"""Bounds of carried, opened and closed things in the near future."""

from __future__ import annotations

import math

from planner.world.geometry import Box, Vec3, wrap_angle_rad
from planner.world.hands import Hand, hand_holding
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.world import KinematicWorld

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
