"""Walking by simulated action sequences (HELPER-2.8.7).

All cells' walking distances to the goal are known from a search over the map. Of several
sequences of actions, each simulated on the map, the one that comes nearest to the goal is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product

from planner.world.floor_grid import DistanceField, FloorGrid
from planner.world.geometry import wrap_angle_rad

YAW_STEP_RAD = math.pi / 2
PITCH_STEP_RAD = math.pi / 6
FORWARD_M = 0.25
# How far a body that stands too close to something may go to where it may be.
LEAVE_M = 0.4
# A sequence that comes no nearer than this does not help.
_LEAST_M = 1e-6


class Action(StrEnum):
    """The published simulator's moves (HELPER-1.3)."""

    FORWARD = "Forward"
    BACKWARD = "Backward"
    TURN_LEFT = "Turn Left"
    TURN_RIGHT = "Turn Right"
    LOOK_UP = "Look Up"
    LOOK_DOWN = "Look Down"
    STRAFE_LEFT = "Strafe Left"
    STRAFE_RIGHT = "Strafe Right"


_SIDES_RAD = {
    Action.FORWARD: 0.0,
    Action.BACKWARD: math.pi,
    Action.STRAFE_LEFT: math.pi / 2,
    Action.STRAFE_RIGHT: -math.pi / 2,
}
_TURNS_RAD = {Action.TURN_LEFT: YAW_STEP_RAD, Action.TURN_RIGHT: -YAW_STEP_RAD}
_TILTS_RAD = {Action.LOOK_UP: -PITCH_STEP_RAD, Action.LOOK_DOWN: PITCH_STEP_RAD}


@dataclass(frozen=True, slots=True)
class Stance:
    """Where a body is and looks: metres in `map`, heading, and the camera's tilt, down positive."""

    x_m: float
    y_m: float
    yaw_rad: float
    pitch_rad: float = 0.0

    def after(self, action: Action) -> Stance:
        """The stance after an action that nothing prevents."""
        if action in _SIDES_RAD:
            towards_rad = self.yaw_rad + _SIDES_RAD[action]
            return self.ahead(towards_rad, FORWARD_M)
        if action in _TURNS_RAD:
            return replace(self, yaw_rad=wrap_angle_rad(self.yaw_rad + _TURNS_RAD[action]))
        return replace(self, pitch_rad=self.pitch_rad + _TILTS_RAD[action])

    def ahead(self, towards_rad: float, length_m: float) -> Stance:
        """The stance moved in a direction of the map, with the same heading."""
        x_m = self.x_m + length_m * math.cos(towards_rad)
        return replace(self, x_m=x_m, y_m=self.y_m + length_m * math.sin(towards_rad))


Way = tuple[Stance, ...]


def ways_of(start: Stance, sequences: Iterable[Sequence[Action]]) -> list[Way]:
    """The stances of each sequence of actions, one after another, without the start."""
    ways = []
    for sequence in sequences:
        stance, way = start, []
        for action in sequence:
            stance = stance.after(action)
            way.append(stance)
        ways.append(tuple(way))
    return ways


def all_sequences(length: int) -> list[tuple[Action, ...]]:
    """All sequences of turns and steps ahead of a length."""
    moves = (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT)
    return list(product(moves, repeat=length))


def straight_ways(
    start: Stance, lengths_m: Sequence[float], headings: int = 32, every_m: float = 0.05
) -> Iterator[Way]:
    """Turning and going straight, for a body that can turn to any heading.

    Args:
        start: where it is.
        lengths_m: of the ways, the shortest first.
        headings: how many, evenly all around.
        every_m: between the places that a way is checked at.
    """
    for number in range(headings):
        heading_rad = wrap_angle_rad(number * math.tau / headings)
        turned = replace(start, yaw_rad=heading_rad)
        for length_m in lengths_m:
            steps = max(1, math.ceil(length_m / every_m))
            yield tuple(
                turned.ahead(heading_rad, length_m * step / steps) for step in range(1, steps + 1)
            )


def best_way(floor: FloorGrid, to_goal: DistanceField, start: Stance, ways: Iterable[Way]) -> Way:
    """The way with the largest decrease of the walking distance; of equal ones the first.

    Ways over floor that is not free are left out, except at the start of one that begins there: a
    body may stand closer to something than it would go. Empty if none comes nearer.
    """
    best: Way = ()
    least_m = _distance_m(floor, to_goal, start) - _LEAST_M
    for way in ways:
        if not way or not _is_passable(floor, start, way):
            continue
        distance_m = _distance_m(floor, to_goal, way[-1])
        if distance_m < least_m - _LEAST_M:
            best, least_m = way, distance_m
    return best


def _is_passable(floor: FloorGrid, start: Stance, way: Way) -> bool:
    leaving = not floor.is_free(start.x_m, start.y_m)
    for stance in way:
        if floor.is_free(stance.x_m, stance.y_m):
            leaving = False
        elif not leaving or math.dist((start.x_m, start.y_m), (stance.x_m, stance.y_m)) > LEAVE_M:
            return False
    return not leaving


def _distance_m(floor: FloorGrid, to_goal: DistanceField, stance: Stance) -> float:
    """The walk from a stance's cell; inf where there is no way."""
    cell = floor.cell(stance.x_m, stance.y_m)
    return math.inf if cell is None else to_goal.at(cell)
