"""Which free floor a policy drives to."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from planner.skills.attempt import Attempt
from planner.skills.ground import ground_of
from planner.skills.navigation.goal import goal_of
from planner.world.belief import Belief, BeliefNode
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.vocabulary import EntityKind

if TYPE_CHECKING:
    from planner.world.geometry import Vec3

ROBOT = Capabilities("robot", frozenset({"navigate"}), ("hand",), 1.5, 0.28, True)
# Of the small house: the middle of the kitchen and of the table in it.
FLOOR: Vec3 = (1.5, 1.95, 0.0)
TABLE: Vec3 = (2.2, 3.2, 0.45)


def attempt(house: House, base: Vec3, *persons: Vec3) -> Attempt:
    nodes = {
        f"agent_{number}": BeliefNode(
            f"agent_{number}", EntityKind.AGENT, kind, None, at, room="kitchen_0"
        )
        for number, (kind, at) in enumerate([("robot", base), *(("human", p) for p in persons)])
    }
    scene = SimpleNamespace(
        ground=ground_of(house, ROBOT.radius_m), capabilities=ROBOT, layout=house, agent="agent_0"
    )
    made = SimpleNamespace(scene=scene, base=base, belief=Belief(0.0, 1, nodes))
    return cast(Attempt, made)


def gap_m(goal: tuple[float, float] | None, at: Vec3) -> float:
    assert goal is not None
    return math.dist(goal, at[:2])


def test_free_floor_is_driven_to_itself_and_furniture_from_near(small_house: House) -> None:
    here = (3.0, 1.0, 0.0)
    assert goal_of(attempt(small_house, here), FLOOR) == FLOOR[:2]
    beside = goal_of(attempt(small_house, here), TABLE)
    assert gap_m(beside, TABLE) < 1.0
    assert ground_of(small_house, ROBOT.radius_m).grid.is_free(*(beside or (0.0, 0.0)))


@pytest.mark.parametrize("target", [FLOOR, TABLE])
def test_where_another_agent_stands_is_no_goal(small_house: House, target: Vec3) -> None:
    here = (3.0, 1.0, 0.0)
    goal = goal_of(attempt(small_house, here), target)
    assert goal is not None
    person = (goal[0], goal[1], 0.0)
    other = goal_of(attempt(small_house, here, person), target)
    assert gap_m(other, person) > 0.28 + 0.2 + 0.05
    assert gap_m(other, target) <= 0.85 * ROBOT.reach_m


def test_where_all_floor_is_taken_the_goal_stays_as_persons_make_way(small_house: House) -> None:
    crowd = [(0.4 * x, 0.4 * y, 0.0) for x in range(20) for y in range(11)]
    here = (3.0, 1.0, 0.0)
    assert goal_of(attempt(small_house, here, *crowd), FLOOR) == FLOOR[:2]
    assert gap_m(goal_of(attempt(small_house, here, *crowd), TABLE), TABLE) < 1.0
