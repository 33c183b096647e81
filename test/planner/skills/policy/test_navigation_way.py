"""The way over what depth pictures have shown."""

from __future__ import annotations

import numpy as np
import pytest

from planner.skills.policy.navigation_way import Codes, OptimisticWay, doubted_way

CELL_M = 0.1
FREE, WALL, TOUCHED = 1, 2, 4


def field() -> Codes:
    """Ten metres square of which nothing is known."""
    return np.zeros((100, 100), np.uint8)


def way(cells: Codes, base: tuple[float, float], goal: tuple[float, float]) -> np.ndarray:
    return OptimisticWay().points(cells, WALL, CELL_M, base, goal)


def length_m(points: np.ndarray) -> float:
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def clearance_m(points: np.ndarray, cells: Codes) -> float:
    """Least distance of a point to the middle of a cell of a wall."""
    rows, columns = np.nonzero(cells & WALL)
    xs, ys = (columns + 0.5) * CELL_M, (rows + 0.5) * CELL_M
    return float(np.hypot(points[:, :1] - xs, points[:, 1:] - ys).min())


def test_over_unseen_floor_the_way_is_straight() -> None:
    points = way(field(), (2.0, 5.0), (8.0, 5.0))
    assert points[0] == pytest.approx((2.0, 5.0), abs=0.15)
    assert tuple(points[-1]) == (8.0, 5.0)
    assert length_m(points) == pytest.approx(6.0, abs=0.2)


def test_what_hinders_is_passed_at_a_distance() -> None:
    cells = field()
    cells[30:70, 50] = WALL
    points = way(cells, (3.0, 5.0), (7.0, 5.0))
    assert clearance_m(points, cells) > 0.2
    # Around the end of a wall of four metres.
    assert 5.6 < length_m(points) < 7.0


def test_a_door_is_found_and_a_gap_that_is_too_narrow_is_not_taken() -> None:
    cells = field()
    cells[:, 50] = WALL
    cells[20:23, 50] = 0
    assert not len(way(cells, (3.0, 2.2), (7.0, 2.2))), "0.3 m are too narrow"
    cells[60:69, 50] = 0
    points = way(cells, (3.0, 2.2), (7.0, 2.2))
    crossed = points[np.argmin(abs(points[:, 0] - 5.05))]
    assert 6.2 < crossed[1] < 6.7, "through the middle of the door of 0.9 m"


def test_a_closed_room_has_no_way_out() -> None:
    cells = field()
    cells[30:70, [30, 70]] = WALL
    cells[[30, 70], 30:71] = WALL
    assert not len(way(cells, (5.0, 5.0), (9.0, 5.0)))


def test_what_encloses_the_body_is_passed_where_it_is_thinnest() -> None:
    cells = field()
    cells[42:58, 42] = WALL
    cells[42:58, 57:62] = WALL
    cells[42:44, 42:62] = cells[56:58, 42:62] = WALL
    points = doubted_way(cells, WALL, CELL_M, (5.0, 5.0), (9.0, 5.0))
    assert tuple(points[-1]) == (9.0, 5.0)
    assert points[:, 0].min() < 4.2, "out by the thin door, away from the goal"
    far = points[np.hypot(*(points - (5.0, 5.0)).T) > 2.0]
    assert clearance_m(far, cells) > 0.2


def test_a_wall_far_from_body_and_goal_is_not_doubted() -> None:
    cells = field()
    cells[20:80, [20, 70]] = WALL
    cells[[20, 79], 20:71] = WALL
    assert not len(doubted_way(cells, WALL, CELL_M, (4.5, 5.0), (9.5, 5.0)))


def test_body_and_goal_may_stand_close_to_what_hinders() -> None:
    cells = field()
    cells[50, 20:80] = WALL
    points = way(cells, (3.0, 4.85), (7.0, 4.85))
    assert len(points)
    assert length_m(points) < 5.0


def test_seen_floor_is_preferred_a_little() -> None:
    cells = field()
    cells[40:60, 45:55] = WALL
    cells[60:75, 20:85] = FREE
    points = way(cells, (3.0, 5.0), (7.0, 5.0))
    assert points[:, 1].max() > 6.0, "on the side that was seen"


def test_the_way_is_kept_until_something_stands_on_it_or_the_body_leaves_it() -> None:
    cells = field()
    planned = OptimisticWay()
    first = planned.points(cells, WALL, CELL_M, (2.0, 5.0), (8.0, 5.0))
    on = planned.points(cells, WALL, CELL_M, (3.1, 5.1), (8.0, 5.0))
    assert np.array_equal(on, first[-len(on) :])
    assert len(on) < len(first)
    cells[48:52, 60] = WALL
    around = planned.points(cells, WALL, CELL_M, (3.1, 5.1), (8.0, 5.0))
    assert clearance_m(around, cells) > 0.2
    left = planned.points(cells, WALL, CELL_M, (3.1, 7.0), (8.0, 5.0))
    assert left[0] == pytest.approx((3.1, 7.0), abs=0.15)


def test_points_outside_the_map_are_no_error() -> None:
    points = way(field(), (1.0, 1.0), (14.0, 1.0))
    assert tuple(points[-1]) == (14.0, 1.0)


def test_a_goal_where_something_was_touched_is_reached_from_another_side() -> None:
    cells = field()
    # A drive from the right was stopped so close to the goal that its own cell counts as touched.
    cells[47:53, 80:83] = WALL | TOUCHED
    points = OptimisticWay().points(cells, WALL, CELL_M, (2.0, 5.0), (8.0, 5.0), TOUCHED)
    assert tuple(points[-1]) == (8.0, 5.0)
    assert points[:, 0].max() <= 8.0, "from the left"
    cells[40:60, [76, 84]] = cells[[40, 59], 76:85] = WALL | TOUCHED
    assert not len(OptimisticWay().points(cells, WALL, CELL_M, (2.0, 5.0), (8.0, 5.0), TOUCHED))
