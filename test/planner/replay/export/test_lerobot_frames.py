"""State and action: an action leads from one state to the next."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.export.lerobot_frames import actions, read_body
from planner.replay.export.source import Source
from planner.world.errors import FileError
from planner.world.geometry import Pose, wrap_angle_rad

NUMBER = st.floats(-10, 10)
ANGLE = st.floats(-3.1, 3.1)


def test_states_are_poses_in_the_map_and_the_newest_up_to_the_time(tapes) -> None:
    body = read_body(Source(tapes.run()), "agent_0")
    parts = ("hand_pan.pos", "hand_tilt.pos", "gripper.pos")
    assert body.names.state == ("x.pos", "y.pos", "theta.pos", "x.vel", "theta.vel", *parts)
    assert body.names.action == ("x.vel", "y.vel", "theta.vel", *parts)
    assert (body.first_s, body.last_s) == (pytest.approx(0.0, abs=1e-6), 4.0)
    (state,) = body.states([1.06])
    x, y, yaw = tapes.base_pose(1.0)
    odom = Pose.planar(tapes.odom_in_map[0], tapes.odom_in_map[1], tapes.odom_in_map[2])
    there = odom.apply((x, y, 0.0))
    expected = [there[0], there[1], yaw + tapes.odom_in_map[2], 0.4, 0.2, 0.1, 0.45, 1.0]
    assert state == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.tuples(NUMBER, NUMBER, ANGLE), min_size=1, max_size=6), st.integers(1, 60))
def test_from_a_state_and_its_action_follows_the_next_state(poses, fps) -> None:
    states = np.array([[x, y, yaw, 0.0, 0.0, 0.1 * n] for n, (x, y, yaw) in enumerate(poses)])
    done = actions(states.astype(np.float32), fps)
    assert done.shape == (len(poses), 4)
    for n, (x_vel, y_vel, turn_vel, joint) in enumerate(done.astype(float)):
        x, y, yaw = poses[n]
        after_x, after_y, after_yaw = poses[min(n + 1, len(poses) - 1)]
        moved = Pose.planar(x, y, yaw).apply((x_vel / fps, y_vel / fps, 0.0))
        assert moved[:2] == pytest.approx((after_x, after_y), abs=1e-4)
        assert wrap_angle_rad(yaw + turn_vel / fps - after_yaw) == pytest.approx(0.0, abs=1e-5)
        assert joint == pytest.approx(states[min(n + 1, len(poses) - 1), 5])


def test_the_base_that_drives_an_arc_has_its_velocity(tapes) -> None:
    body = read_body(Source(tapes.run()), "agent_0")
    done = actions(body.states([0.0, 0.1, 0.2]), 10)
    assert done[0] == pytest.approx([0.4, 0.0, 0.2, 0.01, 0.45, 1.0], abs=0.01)
    assert done[2] == pytest.approx([0.0, 0.0, 0.0, 0.02, 0.45, 1.0], abs=1e-6)


def test_joints_in_another_order_are_the_same_joints(tapes) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    names = {"name": ["hand_tilt", "extra", "hand_pan"], "position": [0.7, 9.0, 0.3]}
    tape.put("/agent_0/joint_states", "sensor_msgs/JointState", 0.1, **names)
    # Without all of them it says nothing.
    lacking = {"name": ["hand_tilt"], "position": [0.9]}
    tape.put("/agent_0/joint_states", "sensor_msgs/JointState", 0.2, **lacking)
    tapes.body(tape, 0.3)
    body = read_body(Source(tape.close()), "agent_0")
    assert body.states([0.25])[0, 5:] == pytest.approx([0.3, 0.7])


def test_a_bag_without_odometry_says_which_agents_it_has(tapes) -> None:
    source = Source(tapes.run())
    with pytest.raises(FileError, match=r"/spot/odometry: has no message; .* bag: agent_0"):
        read_body(source, "spot")


def test_motion_is_known_from_when_all_of_it_is(tapes) -> None:
    tape = tapes.tape()
    for number in range(5):
        tapes.body(tape, number / 10)
    tape.put("/agent_0/gripper_state", "sensor_msgs/JointState", 0.15, name=["g"], position=[0.5])
    body = read_body(Source(tape.close()), "agent_0")
    assert body.first_s == pytest.approx(0.15)
    assert math.isclose(body.last_s, 0.4)
