"""Where frames were at a time: between samples, before them, after them."""

from __future__ import annotations

import math

import pytest

from planner.world.geometry import Pose
from sim_bridge.one_robot import KEPT_S, ClockShift, FrameHistory, PoseHistory


def turning(*stamps_s: float, rate_rad_s: float = 0.5) -> PoseHistory:
    """A body that turns and walks 1 m/s along x."""
    history = PoseHistory()
    for stamp_s in stamps_s:
        history.add(stamp_s, Pose.planar(stamp_s, 0.0, rate_rad_s * stamp_s))
    return history


@pytest.mark.parametrize("order", [(10.0, 10.4, 11.0), (11.0, 10.0, 10.4)])
def test_a_pose_between_samples_is_on_the_way(order: tuple[float, ...]) -> None:
    pose = turning(*order).at(10.1)
    assert pose is not None
    assert pose.position_m[0] == pytest.approx(10.1)
    assert pose.yaw_rad == pytest.approx(math.remainder(0.5 * 10.1, math.tau))


def test_a_turn_goes_the_shorter_way_whatever_the_sign_of_the_quaternion() -> None:
    history = PoseHistory()
    history.add(1.0, Pose.planar(0.0, 0.0, 3.0))
    x, y, z, w = Pose.planar(0.0, 0.0, -3.0).orientation
    history.add(2.0, Pose((0.0, 0.0, 0.0), (-x, -y, -z, -w)))
    pose = history.at(1.5)
    assert pose is not None
    assert abs(pose.yaw_rad) == pytest.approx(math.pi)


def test_a_time_outside_the_samples_is_unknown_but_for_a_hold() -> None:
    history = turning(10.0, 11.0)
    assert history.at(9.99) is None
    assert history.at(11.2) is None
    held = history.at(11.2, hold_s=0.5)
    assert held is not None
    assert held.position_m[0] == pytest.approx(11.0)
    assert history.at(11.6, hold_s=0.5) is None
    assert PoseHistory().at(None) is None


def test_the_past_is_kept_for_a_while_and_forgotten_by_a_clock_that_is_set_back() -> None:
    history = turning(10.0, 10.0 + KEPT_S + 1.0)
    assert history.at(12.0) is None
    history.add(1.0, Pose((7.0, 0.0, 0.0)))
    newest = history.at(None)
    assert newest is not None
    assert newest.position_m[0] == 7.0
    assert history.newest_s == 1.0


def test_fixed_and_moving_links_make_one_way_at_one_time() -> None:
    frames = FrameHistory({"camera": ("hand", Pose((0.1, 0.0, 0.0)))})
    for stamp_s, x_m in ((1.0, 0.5), (2.0, 0.7)):
        frames.move("body", "hand", stamp_s, Pose((x_m, 0.0, 0.0)))
        frames.move("odom", "body", stamp_s, Pose((10 * stamp_s, 0.0, 0.0)))
    seen = frames.pose_in("odom", "camera", 1.5)
    assert seen is not None
    assert seen.position_m[0] == pytest.approx(15.7)
    back = frames.pose_in("camera", "odom", 1.5)
    assert back is not None
    assert back.position_m[0] == pytest.approx(-15.7)
    assert frames.pose_in("odom", "camera", 2.5) is None
    assert frames.connects("odom", "camera")
    assert not frames.connects("odom", "elsewhere")


def test_a_frame_that_gets_another_parent_has_no_past_in_it() -> None:
    frames = FrameHistory()
    frames.move("odom", "body", 1.0, Pose((1.0, 0.0, 0.0)))
    frames.move("vision", "body", 2.0, Pose((5.0, 0.0, 0.0)))
    assert frames.pose_in("vision", "body", 1.5) is None
    assert frames.pose_in("odom", "body") is None


def test_clocks_that_are_alike_are_not_shifted() -> None:
    clock = ClockShift()
    for at_s in range(100):
        clock.hear(1000.0 + at_s / 10, 1000.02 + at_s / 10)
    assert clock.shift_s == 0.0


def test_a_clock_that_differs_is_measured_by_the_shortest_way() -> None:
    clock = ClockShift()
    for at_s in range(100):
        late_s = 0.5 if at_s % 3 else 0.01
        clock.hear(1000.0 + at_s / 10, 1037.5 + at_s / 10 + late_s)
    assert clock.shift_s == pytest.approx(37.51, abs=1e-6)


def test_a_clock_that_is_set_back_is_measured_anew() -> None:
    clock = ClockShift()
    clock.hear(1000.0, 1000.0)
    clock.hear(3.0, 1001.0)
    assert clock.shift_s == pytest.approx(998.0)
