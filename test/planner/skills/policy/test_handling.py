"""What a policy of handling observes: where the target is, how the hand points, the picture."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.skills.policy.handling import (
    ACT_S,
    ACTIONS,
    AIMED_RAD,
    FEATURES,
    GRASP,
    MANIPULATION,
    MOVES,
    Aim,
    GraspChoice,
    drive_of,
    features_of,
    layers_of,
    picture_of,
)
from planner.world.geometry import Pose
from planner.world.observation import Intrinsics
from planner.world.primitive import MAX_DRIVE_S, DriveLimits

BASE = Pose.planar(1.0, 2.0, math.pi / 2)
# One metre above the base, level, along its heading.
CAMERA = BASE.compose(Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5)))
LENS = Intrinsics(64, 64, 32.0, 32.0, 31.5, 31.5)


def aim(ahead: float, left: float, up: float) -> Aim:
    """Of a target by metres from the base, along its heading, to its left, above the floor."""
    return Aim.of(BASE, CAMERA, BASE.apply((ahead, left, up)))


def test_a_target_is_seen_from_base_and_hand() -> None:
    straight = aim(2.0, 0.0, 1.0)
    assert (straight.gap_m, straight.bearing_rad) == pytest.approx((2.0, 0.0))
    assert straight.off_rad == pytest.approx(0.0, abs=1e-4)
    assert (straight.pan_rad, straight.tilt_rad) == pytest.approx((0.0, 0.0), abs=1e-9)
    left = aim(1.0, 1.0, 1.0)
    assert left.bearing_rad == pytest.approx(math.pi / 4)
    assert left.left == pytest.approx(left.ahead)
    low = aim(1.0, 0.0, 0.0)
    assert low.down == pytest.approx(low.ahead)
    assert low.off_rad == pytest.approx(math.pi / 4)


def test_where_the_hand_points_is_read_from_its_camera() -> None:
    turned = BASE.compose(Pose.planar(0.0, 0.0, 0.4)).compose(
        Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))
    )
    assert Aim.of(BASE, turned, (1.0, 5.0, 1.0)).pan_rad == pytest.approx(0.4)


def test_a_grasp_counts_within_reach_and_in_the_direction_of_the_hand() -> None:
    assert aim(1.0, 0.0, 1.0).is_close(1.5)
    assert not aim(1.6, 0.0, 1.0).is_close(1.5)
    assert aim(1.0, math.tan(AIMED_RAD - 0.02), 1.0).is_close(1.5)
    assert not aim(1.0, math.tan(AIMED_RAD + 0.02), 1.0).is_close(1.5)


def test_the_target_is_marked_in_the_picture_where_it_is_seen() -> None:
    depth = np.full((64, 64), 2.0, np.float32)
    depth[:8] = 0.0
    picture = picture_of(depth, LENS, aim(2.0, 0.5, 0.8))
    depths, marks = layers_of(picture[None], np.zeros((1, FEATURES), np.float32))[0]
    rows, columns = np.nonzero(marks)
    assert marks.sum() == 9
    # Half a metre to the left and 0.2 m down, at two metres.
    assert (rows.mean(), columns.mean()) == pytest.approx((31.5 + 3.2, 31.5 - 8.0), abs=1.0)
    assert depths[:8].max() == 0.0
    assert depths[40, 40] == pytest.approx(0.5, abs=0.01)
    for away in (aim(-2.0, 0.0, 1.0), aim(0.5, 5.0, 1.0)):
        behind = picture_of(depth, LENS, away)
        assert layers_of(behind[None], np.zeros((1, FEATURES), np.float32))[0, 1].sum() == 0


def test_features_say_the_last_act_and_are_in_range() -> None:
    features = features_of(aim(5.0, -3.0, 0.2), GRASP, hindered=True, holds=True)
    assert features.shape == (FEATURES,)
    assert abs(features).max() <= 1.0
    assert features[-1] == 1.0
    assert features[-ACTIONS:].sum() == 1.0
    assert features_of(aim(1.0, 0.0, 1.0), None, hindered=False, holds=False)[-ACTIONS:].sum() == 0


def test_every_move_is_a_drive_within_limits() -> None:
    limits = DriveLimits(0.8, 1.2, 1.5)
    for number in range(len(MOVES)):
        drive = drive_of(number, limits)
        assert drive.duration_s == ACT_S <= MAX_DRIVE_S
        assert abs(drive.pan_rad_s) <= limits.hand_rad_s
        assert abs(drive.tilt_rad_s) <= limits.hand_rad_s
    with pytest.raises(IndexError):
        drive_of(GRASP, limits)


def test_mirrored_is_left_for_right_and_twice_is_the_same() -> None:
    depth = np.full((64, 64), 2.0, np.float32)
    left, right = aim(1.5, 0.6, 0.9), aim(1.5, -0.6, 0.9)
    pictures = np.stack([picture_of(depth, LENS, one) for one in (left, right)])
    features = np.stack(
        [features_of(one, act, hindered=False, holds=True) for one, act in ((left, 4), (right, 5))]
    )
    acts = np.array([2, 3])
    once = MANIPULATION.mirrored(pictures, features, acts)
    assert once[2].tolist() == [3, 2]
    assert np.allclose(once[1], features[::-1], atol=1e-6)
    assert np.array_equal(once[0][0] & 127, pictures[1] & 127)
    # The marks are squares of three pixels, and the middle is between two pixels.
    gap = np.nonzero(once[0][0] & 128)[1].mean() - np.nonzero(pictures[1] & 128)[1].mean()
    assert abs(gap) <= 1.0
    for a, b in zip((pictures, features, acts), MANIPULATION.mirrored(*once), strict=True):
        assert np.array_equal(a, b)


def test_a_hand_that_comes_no_closer_tries_by_chance_and_one_that_does_not() -> None:
    def aimed(gap_m: float, off_rad: float) -> Aim:
        return Aim(gap_m, 0.0, math.cos(off_rad), math.sin(off_rad), 0.0, 1.0, 0.0, 0.4)

    # It rates pointing left and right best, and tilting next.
    rated = np.full(ACTIONS, -20.0, np.float32)
    rated[[4, 5, 8]] = (2.0, 1.9, 1.0)
    nearer = GraspChoice()
    assert {nearer.of(rated, aimed(1.5 - 0.04 * step, 0.5)) for step in range(30)} == {4}
    pointing = GraspChoice()
    assert {pointing.of(rated, aimed(0.5, 1.5 - 0.04 * step)) for step in range(30)} == {4}
    stuck = GraspChoice()
    acts = [stuck.of(rated, aimed(0.5, 0.7 + 0.1 * (step % 2))) for step in range(60)]
    assert set(acts[:10]) == {4}
    assert set(acts[10:]) == {4, 5, 8}, "what it rates low it does not do"
    again = GraspChoice()
    assert [again.of(rated, aimed(0.5, 0.7 + 0.1 * (step % 2))) for step in range(60)] == acts
    assert stuck.of(rated, aimed(0.5, 0.3)) == 4, "it is closer again"
