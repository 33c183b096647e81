import math

import numpy as np
import pytest

from planner.memory.maps.frontiers import (
    Action,
    Stance,
    all_sequences,
    best_way,
    straight_ways,
    ways_of,
)
from planner.world.floor_grid import FloorGrid


def walled() -> FloorGrid:
    """4 m by 4 m in cells of 0.25 m; a wall between x = 2 and 2.25 m is open at the top only."""
    free = np.ones((16, 16), np.bool_)
    free[:14, 8] = False
    return FloorGrid(free, (0.0, 0.0), 0.25)


def test_check_34_the_sequence_with_the_largest_geodesic_decrease() -> None:
    """HELPER-C34."""
    floor = walled()
    goal = floor.cell(3.1, 1.1)
    assert goal is not None
    to_goal = floor.field(goal)
    start = Stance(1.625, 1.125, 0.0)
    sequences = all_sequences(3)
    way = best_way(floor, to_goal, start, ways_of(start, sequences))
    # Straight ahead is the wall; the goal is behind it, the way there leads up along it.
    assert (way[-1].x_m, way[-1].y_m) == pytest.approx((1.625, 1.625))
    decreases = {}
    for sequence, stances in zip(sequences, ways_of(start, sequences), strict=True):
        if all(floor.is_free(each.x_m, each.y_m) for each in stances):
            cell = floor.cell(stances[-1].x_m, stances[-1].y_m)
            assert cell is not None
            decreases[sequence] = -to_goal.at(cell)
    assert max(decreases, key=decreases.__getitem__) == (
        Action.TURN_LEFT,
        Action.FORWARD,
        Action.FORWARD,
    )


def test_greedy_ways_lead_around_the_wall() -> None:
    floor = walled()
    goal = floor.cell(3.1, 1.1)
    assert goal is not None
    stance = Stance(0.4, 0.4, 0.0)
    for _ in range(20):
        way = best_way(
            floor, floor.field(goal), stance, straight_ways(stance, (0.25, 0.5, 1.0, 2.0))
        )
        if not way:
            break
        stance = way[-1]
    assert floor.cell(stance.x_m, stance.y_m) == goal


def test_no_way_where_none_comes_nearer() -> None:
    floor = walled()
    goal = floor.cell(0.4, 0.4)
    assert goal is not None
    start = Stance(0.4, 0.4, 0.0)
    assert best_way(floor, floor.field(goal), start, straight_ways(start, (0.5,))) == ()


@pytest.mark.parametrize(("action", "degrees"), [(Action.TURN_LEFT, 90), (Action.TURN_RIGHT, -90)])
def test_check_35_yaw_changes_by_90_degrees(action: Action, degrees: int) -> None:
    """HELPER-C35."""
    turned = Stance(1.0, 2.0, 0.25).after(action)
    assert turned.yaw_rad - 0.25 == pytest.approx(math.radians(degrees))
    assert (turned.x_m, turned.y_m, turned.pitch_rad) == (1.0, 2.0, 0.0)


@pytest.mark.parametrize(("action", "degrees"), [(Action.LOOK_UP, -30), (Action.LOOK_DOWN, 30)])
def test_check_35_pitch_changes_by_30_degrees(action: Action, degrees: int) -> None:
    """HELPER-C35."""
    tilted = Stance(1.0, 2.0, 0.25, 0.1).after(action)
    assert tilted.pitch_rad - 0.1 == pytest.approx(math.radians(degrees))
    assert tilted.yaw_rad == 0.25


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Action.FORWARD, (0.0, 0.25)),
        (Action.BACKWARD, (0.0, -0.25)),
        (Action.STRAFE_LEFT, (-0.25, 0.0)),
        (Action.STRAFE_RIGHT, (0.25, 0.0)),
    ],
)
def test_steps_are_relative_to_the_heading(action: Action, expected: tuple[float, float]) -> None:
    moved = Stance(0.0, 0.0, math.pi / 2).after(action)
    assert (moved.x_m, moved.y_m) == pytest.approx(expected)
    assert moved.yaw_rad == math.pi / 2


def test_a_body_too_close_to_something_leaves_it() -> None:
    floor = walled()
    start = Stance(2.05, 1.1, 0.0)
    goal = floor.cell(0.4, 1.1)
    assert goal is not None
    assert not floor.is_free(start.x_m, start.y_m)
    way = best_way(floor, floor.field(goal), start, straight_ways(start, (0.25, 1.5)))
    assert way[-1].x_m == pytest.approx(0.55)
