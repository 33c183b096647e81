"""Where an agent of the graph world will be while it goes on with what it does.

Bodies walk straight and turn in place, at constant speed, so that the near future is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.world.geometry import Box, Vec3, wrap_angle_rad
from planner.world.hands import held_things

if TYPE_CHECKING:
    from sim_bridge.graph.world import Agent, GraphWorld


@dataclass(frozen=True, slots=True)
class Course:
    """What a body is doing: walking to a point, or turning to a heading.

    Attributes:
        to_m: in `map`; None = it turns.
        to_rad: the heading in `map`; 0 where it walks.
    """

    to_m: tuple[float, float] | None = None
    to_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class Stance:
    """Where an agent stands and faces.

    Attributes:
        x_m: in `map`.
        y_m: in `map`.
        yaw_rad: the heading in `map`.
        room: the room's name.
    """

    x_m: float
    y_m: float
    yaw_rad: float
    room: str


def stance_after(world: GraphWorld, who: Agent, seconds: float) -> Stance:
    """Where an agent is after some seconds of its course."""
    course = who.course
    if course is None:
        return Stance(who.x_m, who.y_m, who.yaw_rad, who.room)
    if course.to_m is None:
        left_rad = math.remainder(course.to_rad - who.yaw_rad, math.tau)
        turn_rad = math.copysign(min(who.body.turn_speed_rad_s * seconds, abs(left_rad)), left_rad)
        return Stance(who.x_m, who.y_m, wrap_angle_rad(who.yaw_rad + turn_rad), who.room)
    left_m = math.dist((who.x_m, who.y_m), course.to_m)
    share = min(1.0, who.body.speed_m_s * seconds / left_m) if left_m > 0.0 else 1.0
    x = who.x_m + (course.to_m[0] - who.x_m) * share
    y = who.y_m + (course.to_m[1] - who.y_m) * share
    room = world.start.house.room_at(x, y, guess=who.room)
    return Stance(x, y, who.yaw_rad, room or who.room)


def reach_of(world: GraphWorld, who: Agent, seconds: float) -> Iterator[tuple[str, Box]]:
    """The agent's centre and all that it holds, each with the box that contains its way."""
    after = stance_after(world, who, seconds)
    low = (min(who.x_m, after.x_m), min(who.y_m, after.y_m))
    high = (max(who.x_m, after.x_m), max(who.y_m, after.y_m))
    yield who.name, Box((*low, 0.0), (*high, 0.0))
    turns = who.course is not None and who.course.to_m is None
    for thing in held_things(who.hands):
        hand_m = who.hand_m(thing)
        out_m = math.dist(hand_m[:2], (who.x_m, who.y_m))
        for name in world.with_contents(thing):
            x, y, z = world.position_m(name)
            half_x, half_y, height = _half(world, name)
            if turns:
                # The hand's circle, moved by how far the thing is from the hand.
                x, y = x - hand_m[0] + who.x_m, y - hand_m[1] + who.y_m
                half_x, half_y = half_x + out_m, half_y + out_m
            dx, dy = after.x_m - who.x_m, after.y_m - who.y_m
            yield (
                name,
                Box(
                    (x + min(dx, 0.0) - half_x, y + min(dy, 0.0) - half_y, z),
                    (x + max(dx, 0.0) + half_x, y + max(dy, 0.0) + half_y, z + height),
                ),
            )


def _half(world: GraphWorld, name: str) -> Vec3:
    x, y, z = world.nodes[name].size_m
    return x / 2, y / 2, z
