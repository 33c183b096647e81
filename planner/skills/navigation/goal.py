"""The free floor that a policy drives to, for a target of the primitive `navigate`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planner.world.agents import body_of
from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt
    from planner.world.belief import BeliefNode

# Shares of the reach within which to stand, of which the first that has free floor counts, and what
# a metre closer to the target is worth.
_SHARES, _CLOSER = (0.85, 0.95), 2.0
# The simulators keep two bodies 0.05 m apart; as much again, as nobody stands quite still.
_APART_M = 0.1


def goal_of(attempt: Attempt, target_m: Vec3) -> tuple[float, float] | None:
    """The free floor to drive to: the target, or else what is within reach of it.

    Of that the floor in the target's room counts if there is any, and the cell that is the least to
    walk; close to the target is better, as more of it is in view from there. Where another agent
    stands is no goal unless there is no other: who stands in a nook cannot make way.
    """
    grid, base = attempt.scene.ground.grid, attempt.base
    taken = _Taken(attempt)
    is_free = grid.is_free(target_m[0], target_m[1])
    if is_free and not taken.at(target_m[0], target_m[1]):
        return (target_m[0], target_m[1])
    here = None if base is None else grid.nearest_free(base[0], base[1])
    if here is None:
        return None
    house = attempt.scene.layout
    room = house.room_at(target_m[0], target_m[1])
    from_here = grid.field(here)
    found: list[tuple[bool, bool, float, float, float]] = []
    for share in _SHARES:
        near = grid.free_within(
            target_m[0], target_m[1], share * attempt.scene.capabilities.reach_m
        )
        for cell in near.tolist():
            x, y = grid.point(cell)
            walk_m, gap_m = from_here.at(cell), math.dist((x, y), target_m[:2])
            if math.isfinite(walk_m):
                cost = walk_m + _CLOSER * gap_m
                found.append((taken.at(x, y), house.room_at(x, y) != room, cost, x, y))
        if found and not min(found)[0]:
            break
    if is_free and (not found or min(found)[0]):
        return (target_m[0], target_m[1])
    return min(found)[3:] if found else None


def others(attempt: Attempt) -> list[BeliefNode]:
    """The other agents, where they are believed to be."""
    agents = attempt.belief.of_kind(EntityKind.AGENT)
    return [one for one in agents if one.name != attempt.scene.agent]


class _Taken:
    """The floor on which other agents are believed to stand."""

    def __init__(self, attempt: Attempt) -> None:
        own_m = attempt.scene.capabilities.radius_m
        self._agents: list[tuple[tuple[float, float], float]] = []
        for other in others(attempt):
            body = body_of(other.class_name)
            apart_m = own_m + (own_m if body is None else body.radius_m) + _APART_M
            self._agents.append(((other.position_m[0], other.position_m[1]), apart_m))

    def at(self, x_m: float, y_m: float) -> bool:
        """Whether a body there would stand too near to another one."""
        return any(math.dist(at, (x_m, y_m)) < apart_m for at, apart_m in self._agents)
