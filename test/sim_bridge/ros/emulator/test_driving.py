"""The emulated base, its odometry, its localiser, and what Nav2 does with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robot_stage import BY_CHEST, Stage

from planner.world.geometry import Pose
from sim_bridge.opening import default_house, open_world
from sim_bridge.ros.emulator import navigation
from sim_bridge.ros.emulator.house import MAP_CELL_M, occupancy
from sim_bridge.ros.emulator.joint_control import Ended, GoalError, Status

IN_ROOM = (1.75, 8.05, 0.0)


def test_a_navigation_ends_within_its_tolerances_and_not_nearer() -> None:
    stage = Stage(IN_ROOM)
    goal = Pose.planar(3.1, 9.6, 1.5)
    ended = stage.until(lambda done: stage.sim.navigate([goal], done))
    stage.pass_time(1.0)
    assert ended == Ended(Status.SUCCEEDED)
    here = stage.sim.base.pose
    assert 0.0 < math.dist(here.position_m, goal.position_m) < 0.12
    assert abs(here.yaw_rad - goal.yaw_rad) < 0.12
    assert stage.sim.base.speed_m_s == 0.0


def test_the_newest_velocity_wins_also_over_the_navigation() -> None:
    stage = Stage(IN_ROOM)
    ends: list[Ended] = []
    stage.sim.navigate([Pose.planar(4.5, 8.0)], ends.append)
    stage.pass_time(2.0)
    stage.sim.drive(0.0, 0.0)
    stage.pass_time(1.0)
    assert stage.sim.base.speed_m_s > 0.3
    assert not ends


def test_a_canceled_navigation_stops_the_base_and_a_killed_one_only_by_time() -> None:
    for how, still_s in (("hold", 0.3), ("crash", 0.5)):
        stage = Stage(IN_ROOM)
        ends: list[Ended] = []
        stage.sim.navigate([Pose.planar(4.5, 8.0)], ends.append)
        stage.pass_time(2.0)
        if how == "hold":
            stage.sim.hold("navigation")
        else:
            stage.sim.crash_navigation()
        stage.pass_time(still_s)
        assert (stage.sim.base.speed_m_s == 0.0) is (how == "hold")
        stage.pass_time(0.5)
        assert stage.sim.base.speed_m_s == 0.0


def test_a_velocity_expires_and_accelerates_no_faster_than_the_base_can() -> None:
    stage = Stage(IN_ROOM)
    stage.sim.drive(0.5, 0.0)
    stage.pass_time(0.1)
    assert 0 < stage.sim.base.speed_m_s < 0.15
    stage.pass_time(1.0)
    assert stage.sim.base.speed_m_s == 0.0


def test_walls_stop_the_base() -> None:
    stage = Stage(IN_ROOM)
    for _ in range(100):
        stage.sim.drive(-0.5, 0.0)
        stage.pass_time(0.1)
    assert 0.2 < stage.sim.base.pose.position_m[0] < 0.5


def test_odometry_slips_and_the_localiser_corrects_it_now_and_then() -> None:
    stage = Stage(IN_ROOM)
    stage.until(lambda done: stage.sim.navigate([Pose.planar(3.0, 11.0)], done))
    base = stage.sim.base
    start = Pose.planar(*IN_ROOM)
    by_wheels = math.dist(start.compose(base.odom).position_m, base.pose.position_m)
    by_localiser = math.dist(base.estimate.position_m, base.pose.position_m)
    assert by_wheels > 2 * by_localiser
    assert by_localiser < 0.02


def test_a_wrong_initial_pose_is_believed_until_the_robot_moves() -> None:
    stage = Stage(IN_ROOM)
    stage.sim.base.localise(Pose.planar(3.0, 8.0), 0.0)
    assert stage.sim.base.estimate.position_m == pytest.approx((3.0, 8.0, 0.0))
    for _ in range(10):
        stage.sim.drive(0.4, 0.0)
        stage.pass_time(0.1)
    gap = math.dist(stage.sim.base.estimate.position_m, stage.sim.base.pose.position_m)
    assert gap < 0.02


@pytest.mark.parametrize(
    ("start", "goal", "code"),
    [
        (IN_ROOM, (0.0, 7.9), navigation.GOAL_OCCUPIED),
        (IN_ROOM, (-50.0, 7.9), navigation.GOAL_OUTSIDE_MAP),
        ((-9.0, 0.0, 0.0), (3.0, 11.0), navigation.START_OUTSIDE_MAP),
        ((3.4, 6.6, 0.0), (3.0, 11.0), navigation.START_OCCUPIED),
    ],
)
def test_why_there_is_no_path(
    start: tuple[float, float, float], goal: tuple[float, float], code: int
) -> None:
    stage = Stage(IN_ROOM)
    with pytest.raises(GoalError) as told:
        stage.sim.planner.plan(Pose.planar(*start), Pose.planar(*goal))
    assert told.value.ended.code == code


def test_a_goal_without_a_way_is_tried_again_and_then_given_up() -> None:
    stage = Stage(IN_ROOM)
    grid = stage.sim.house.ground.grid(0.28)
    counts = np.bincount(grid.components.ravel())
    island = int(np.argmin(counts))
    x, y = grid.point(int(np.flatnonzero(grid.components.ravel() == island)[0]))
    ended = stage.until(lambda done: stage.sim.navigate([Pose.planar(x, y)], done))
    assert ended.code == navigation.NO_VALID_PATH
    assert stage.sim.now_s > 1.9


def test_one_that_is_held_back_makes_no_progress() -> None:
    stage = Stage(IN_ROOM)
    ends: list[Ended] = []
    stage.sim.navigate([Pose.planar(4.5, 8.0)], ends.append)
    for _ in range(3000):
        stage.sim.step(0.02, stage.sim.now_s)
        stage.sim.drive(0.0, 0.0)
    assert [end.code for end in ends] == [navigation.FAILED_TO_MAKE_PROGRESS]


def test_the_map_shows_walls_furniture_and_what_is_outside() -> None:
    house = open_world(default_house(), "", 0, 1).house
    cells, (x0, y0) = occupancy(house)

    def at(x: float, y: float) -> int:
        return int(cells[int((y - y0) / MAP_CELL_M), int((x - x0) / MAP_CELL_M)])

    assert at(*IN_ROOM[:2]) == 0
    assert at(0.02, 8.0) == 100
    piece = house.furniture_by_name["couch_0"]
    assert at(piece.x_m, piece.y_m) == 100
    assert set(np.unique(cells).tolist()) <= {-1, 0, 100}


def test_it_starts_where_the_episode_says() -> None:
    x, y, _ = Stage(BY_CHEST).sim.base.pose.position_m
    assert (x, y) == BY_CHEST[:2]
