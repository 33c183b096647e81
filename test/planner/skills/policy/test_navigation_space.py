"""What a navigation policy observes: the map of depth pictures, the goal, the last act."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.skills.policy.navigation_space import (
    ACT_S,
    ACTIONS,
    FEATURES,
    ActChoice,
    DepthMap,
    Goal,
    drive_of,
    features_of,
    layers_of,
)
from planner.skills.policy.policy_file import CELLS
from planner.world.geometry import Pose
from planner.world.observation import Intrinsics
from planner.world.primitive import MAX_DRIVE_S, DriveLimits

# One metre high, level, looking along x from the map's origin.
CAMERA = Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))
LENS = Intrinsics(64, 64, 32.0, 32.0, 31.5, 31.5)
BASE = Pose.planar(0.0, 0.0, 0.0)
MIDDLE = CELLS // 2
NEAR = Goal(1.0, 0.0)


def wall(distance_m: float) -> DepthMap:
    made = DepthMap(BASE)
    made.add(np.full((64, 64), distance_m, np.float32), LENS, CAMERA, BASE)
    return made


def goal_at(base: Pose, goal: Goal) -> tuple[float, float]:
    yaw = base.yaw_rad + goal.bearing_rad
    x, y, _ = base.position_m
    return x + goal.distance_m * math.cos(yaw), y + goal.distance_m * math.sin(yaw)


def layers(made: DepthMap, base: Pose = BASE, goal: Goal = NEAR) -> np.ndarray:
    features = features_of(goal, None, hindered=False)
    return layers_of(made.around(base, goal_at(base, goal))[None], features[None])[0]


def test_a_wall_is_occupied_where_it_stands_and_stays_there_when_the_body_turns() -> None:
    made = wall(1.55)
    occupied, _, trail, _, _ = layers(made)
    assert set(np.nonzero(occupied[:, MIDDLE])[0]) == {MIDDLE - 16}
    assert trail[MIDDLE - 1 : MIDDLE + 1, MIDDLE - 1 : MIDDLE + 1].sum() >= 1
    left = layers(made, Pose.planar(0.0, 0.0, math.pi / 2))[0]
    assert left[:, : CELLS // 2].sum() == 0, "what was ahead is to the right now"
    assert left[:, CELLS // 2 :].sum() > 5


def test_floor_is_free_and_what_is_above_the_body_is_not_seen() -> None:
    made = DepthMap(BASE)
    depth_m = np.zeros((64, 64), np.float32)
    # The floor below the horizon, a beam two metres up.
    rows = (np.arange(64) - 31.5) / 32.0
    depth_m[40:] = (1.0 / rows[40:])[:, None]
    depth_m[5] = 1.2 / -rows[5]
    made.add(depth_m, LENS, CAMERA, BASE)
    occupied, free, _, _, _ = layers(made)
    assert occupied.sum() == 0
    assert free.sum() > 20
    assert free[:MIDDLE].sum() == free.sum(), "all of it is ahead"


def test_what_was_occupied_stays_so_when_floor_is_seen_under_it() -> None:
    made = wall(1.55)
    down = Pose.planar(1.55, 0.0, 0.0).compose(Pose((0.0, 0.0, 0.5), (1.0, 0.0, 0.0, 0.0)))
    made.add(np.full((64, 64), 0.5, np.float32), LENS, down, BASE)
    assert layers(made)[0][MIDDLE - 16, MIDDLE] == 1.0
    assert layers(made)[1][MIDDLE - 16, MIDDLE] == 0.0


def test_nothing_measured_and_places_off_the_map_mark_nothing() -> None:
    made = wall(0.0)
    assert layers(made)[:2].sum() == 0
    far = Pose.planar(500.0, 0.0, 0.0)
    made.add(np.full((64, 64), 1.0, np.float32), LENS, far.compose(CAMERA), far)
    assert layers(made, far)[:3].sum() == 0


@pytest.mark.parametrize(
    ("goal", "row", "column"),
    [
        (Goal(1.0, 0.0), MIDDLE - 10, MIDDLE),
        (Goal(1.0, math.pi / 2), MIDDLE, MIDDLE - 10),
        (Goal(9.0, 0.0), 1, MIDDLE),
        (Goal(40.0, math.pi), CELLS - 2, MIDDLE),
    ],
)
def test_the_goal_is_drawn_where_it_is_or_at_the_edge(goal: Goal, row: int, column: int) -> None:
    drawn = layers(DepthMap(BASE), goal=goal)[3]
    assert drawn.sum() == 9
    rows, columns = np.nonzero(drawn)
    assert abs(rows.mean() - row) <= 1
    assert abs(columns.mean() - column) <= 1


def test_a_goal_is_seen_from_the_body() -> None:
    goal = Goal.of(Pose.planar(1.0, 1.0, math.pi / 2), (1.0, 3.0))
    assert (goal.distance_m, goal.bearing_rad) == pytest.approx((2.0, 0.0))
    assert Goal.of(BASE, (0.0, 2.0)).bearing_rad == pytest.approx(math.pi / 2)


def test_features_say_the_last_act() -> None:
    first = features_of(Goal(20.0, 0.5), None, hindered=True)
    assert first.shape == (FEATURES,)
    assert first[0] == 1.0
    assert first[4] == 1.0
    assert first[5:].sum() == 0
    assert features_of(Goal(2.0, 0.0), 3, hindered=False)[5:].tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_every_act_is_a_drive_within_limits() -> None:
    limits = DriveLimits(0.8, 1.2)
    for number in range(len(ACTIONS)):
        drive = drive_of(number, limits)
        assert drive.duration_s == ACT_S <= MAX_DRIVE_S
        assert abs(drive.forward_m_s) <= limits.forward_m_s
        assert abs(drive.turn_rad_s) <= limits.turn_rad_s
    assert set(ACTIONS) == {(speed, -turn) for speed, turn in ACTIONS}


def test_what_the_hand_holds_is_nothing_that_hinders() -> None:
    made = DepthMap(BASE)
    picture = np.full((64, 64), 1.55, np.float32)
    picture[28:36, 28:36] = 0.4
    made.add(picture, LENS, CAMERA, BASE, held_m=(0.4, 0.0, 1.0))
    occupied = layers(made)[0]
    assert occupied[MIDDLE - 16].sum() > 5, "the wall behind it does"
    assert occupied[MIDDLE - 8 :].sum() == 0
    made.add(picture, LENS, CAMERA, BASE)
    assert layers(made)[0][MIDDLE - 8 :].sum() > 0, "with an empty hand it is in the way"


def test_a_person_is_nothing_that_hinders_as_persons_make_way() -> None:
    made = DepthMap(BASE)
    picture = np.full((64, 64), 1.55, np.float32)
    made.add(picture, LENS, CAMERA, BASE, persons_m=[(1.55, 0.0, 0.8)])
    wall = layers(made)[0][MIDDLE - 16]
    assert wall[MIDDLE - 4 : MIDDLE + 4].sum() == 0
    assert wall.sum() > 5, "the wall beside the person does"
    made.add(picture, LENS, CAMERA, BASE)
    assert layers(made)[0][MIDDLE - 16, MIDDLE - 4 : MIDDLE + 4].sum() > 5


def test_a_body_that_is_stuck_tries_by_chance_and_one_that_moves_does_not() -> None:
    rated = np.array([2.0, 1.5, 0.0, 0.0, 0.0, 1.9, 0.0], np.float32)
    moving = ActChoice()
    steps = [moving.of(rated, Pose.planar(0.1 * step, 0.0)) for step in range(40)]
    assert set(steps) == {0}
    stuck = ActChoice()
    acts = [stuck.of(rated, Pose.planar(0.0, 0.01 * (step % 2))) for step in range(60)]
    assert set(acts[:9]) == {0}
    assert len(set(acts[9:])) > 2
    again = ActChoice()
    assert [again.of(rated, Pose.planar(0.0, 0.01 * (step % 2))) for step in range(60)] == acts


def test_the_way_is_drawn_from_the_body_towards_the_goal() -> None:
    drawn = layers(wall(1.55), goal=Goal(1.0, 0.0))[4]
    rows, columns = np.nonzero(drawn)
    assert rows.max() >= MIDDLE - 2
    assert rows.min() <= MIDDLE - 9
    assert set(range(MIDDLE - 9, MIDDLE - 2)) <= set(rows.tolist()), "without a gap"
    assert abs(columns - MIDDLE).max() <= 3


def test_where_no_way_is_left_the_most_likely_one_is_doubted_and_seen_again() -> None:
    made = wall(1.55)
    for yaw in range(0, 360, 30):
        turned = Pose.planar(0.0, 0.0, math.radians(yaw))
        made.add(np.full((64, 64), 1.0, np.float32), LENS, turned.compose(CAMERA), turned)
    before, _, trail, _, way = layers(made, goal=Goal(6.0, 0.0))
    assert len(made.way_m), "walls on all sides, so that one of them is doubted"
    assert way.sum() > 5
    assert trail.sum() >= 1
    after = layers(made, goal=Goal(6.0, 0.0))[0]
    assert 0 < after.sum() < before.sum(), "what is elsewhere is not forgotten"
    for yaw in range(0, 360, 30):
        turned = Pose.planar(0.0, 0.0, math.radians(yaw))
        made.add(np.full((64, 64), 1.0, np.float32), LENS, turned.compose(CAMERA), turned)
    assert layers(made, goal=Goal(6.0, 0.0))[0].sum() > after.sum(), "it is still there"


def test_what_stopped_a_drive_is_never_doubted_and_no_network_reads_more() -> None:
    made = wall(0.0)
    for degrees in range(0, 360, 20):
        made.touch(Pose.planar(0.0, 0.0, math.radians(degrees)))
    for _ in range(3):
        codes = made.around(BASE, (6.0, 0.0))
        assert codes.max() <= 15
        assert not len(made.way_m), "it is enclosed by what it has touched"
        assert layers(made, goal=Goal(6.0, 0.0))[0].sum() > 20


def test_what_stopped_a_drive_is_ahead_and_a_way_around_it_is_left() -> None:
    made = wall(0.0)
    made.touch(BASE)
    occupied = layers(made)[0]
    rows, columns = np.nonzero(occupied)
    assert set(rows) <= {MIDDLE - 5, MIDDLE - 4, MIDDLE - 3}
    assert abs(columns - MIDDLE).max() <= 3
    assert len(made.way_m) > 0
