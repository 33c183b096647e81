"""Joint trajectories as ros2_control follows them, and motions as MoveIt plans them."""

from __future__ import annotations

import numpy as np
import pytest
from robot_stage import DOWN, Stage

from planner.world.geometry import Pose
from sim_bridge.ros.emulator import joint_control, motion_planning
from sim_bridge.ros.emulator.joint_control import (
    ARM,
    CAMERA,
    GRASP,
    Ended,
    GoalError,
    Kinematics,
    RobotModel,
    Status,
    Trajectory,
    shipped_urdf,
)
from sim_bridge.ros.emulator.motion_planning import LinkGoal, MotionRequest


def head(pan: float, seconds: float, **more: object) -> Trajectory:
    places = np.array([[pan, 0.3]])
    fields = {"times_s": np.array([seconds]), "positions": places} | more
    return Trajectory(("head_pan_joint", "head_tilt_joint"), **fields)  # type: ignore[arg-type]


def follow(stage: Stage, trajectory: Trajectory) -> Ended:
    return stage.until(lambda done: stage.sim.follow("head_controller", trajectory, done))


def test_the_frames_are_where_the_description_says() -> None:
    kinematics = Kinematics(RobotModel(shipped_urdf()))
    assert kinematics.pose(CAMERA).position_m == pytest.approx((0.04, 0.02, 1.25))
    # Of an optical frame z is ahead and y down.
    assert kinematics.pose(CAMERA).rotation()[:, 2] == pytest.approx((1, 0, 0), abs=1e-5)
    assert kinematics.pose(CAMERA).rotation()[:, 1] == pytest.approx((0, 0, -1), abs=1e-5)
    assert kinematics.pose(GRASP).position_m == pytest.approx((1.15, 0.0, 0.81))
    chain, link = Pose((0.0, 0.0, 0.0)), GRASP
    while link != "base_footprint":
        chain, link = kinematics.on_parent(link).compose(chain), kinematics.robot.parent[link]
    assert chain.position_m == pytest.approx(kinematics.pose(GRASP).position_m)


def test_a_trajectory_takes_its_time_and_ends_at_its_goal(stage: Stage) -> None:
    began_s = stage.sim.now_s
    assert follow(stage, head(0.8, 2.0)).status is Status.SUCCEEDED
    assert stage.sim.now_s - began_s == pytest.approx(2.0, abs=0.05)
    assert stage.sim.q[stage.sim.robot.index["head_pan_joint"]] == pytest.approx(0.8, abs=0.02)


def test_one_that_is_too_fast_leaves_its_path_or_misses_its_goal(stage: Stage) -> None:
    watched = follow(stage, head(1.4, 0.2, path_tolerance={"head_pan_joint": 0.1}))
    assert watched.code == joint_control.PATH_TOLERANCE_VIOLATED
    assert "head_pan_joint" in watched.text
    late = follow(stage, head(-1.4, 0.1, goal_time_s=0.1))
    assert late.code == joint_control.GOAL_TOLERANCE_VIOLATED
    assert follow(stage, head(1.4, 0.1, goal_time_s=5.0)).status is Status.SUCCEEDED


def test_a_canceled_trajectory_holds_its_place(stage: Stage) -> None:
    ends: list[Ended] = []
    stage.sim.follow("head_controller", head(1.4, 3.0), ends.append)
    stage.pass_time(1.0)
    stage.sim.hold("head_controller")
    there = stage.sim.q.copy()
    stage.pass_time(1.0)
    assert [end.status for end in ends] == [Status.CANCELED]
    assert (stage.sim.q == there).all()


@pytest.mark.parametrize(
    ("trajectory", "code", "says"),
    [
        (Trajectory(("head_pan_joint",), np.ones(1), np.zeros((1, 1))), -2, "expected the joints"),
        (head(0.0, 1.0, times_s=np.zeros(0), positions=np.zeros((0, 2))), -1, "no points"),
        (head(9.0, 1.0), -1, "beyond its limits"),
        (head(float("nan"), 1.0), -1, "not finite"),
        (
            head(0.0, 1.0, times_s=np.array([1.0, 1.0]), positions=np.zeros((2, 2))),
            -1,
            "does not increase",
        ),
    ],
)
def test_what_a_controller_refuses(
    stage: Stage, trajectory: Trajectory, code: int, says: str
) -> None:
    with pytest.raises(GoalError, match=says) as told:
        trajectory.check(("head_pan_joint", "head_tilt_joint"), stage.sim.robot)
    assert told.value.ended.code == code


def test_a_motion_brings_the_link_into_its_region(stage: Stage) -> None:
    goal = stage.sim.base.pose.compose(Pose((0.4, -0.5, 0.95), Pose.planar(0, 0, -0.5).orientation))
    assert stage.move_grip(goal).code == motion_planning.SUCCESS
    assert stage.grip_pose.position_m == pytest.approx(goal.position_m, abs=0.006)


def test_from_above_it_reaches_the_floor(stage: Stage) -> None:
    down = Pose((5.4, 1.35, 0.06), DOWN.orientation)
    assert stage.move_grip(down).code == motion_planning.SUCCESS


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (MotionRequest("left_arm"), motion_planning.INVALID_GROUP_NAME),
        (MotionRequest("arm"), motion_planning.INVALID_GOAL_CONSTRAINTS),
        (MotionRequest("arm", link=LinkGoal("nose")), motion_planning.INVALID_LINK_NAME),
        (
            MotionRequest("arm", joints={ARM[0]: (3.0, 0.1, 0.1)}),
            motion_planning.INVALID_GOAL_CONSTRAINTS,
        ),
        (
            MotionRequest("arm", link=LinkGoal(GRASP, region=Pose((3.0, 0.0, 1.0))), allowed_s=0.5),
            motion_planning.NO_IK_SOLUTION,
        ),
        (
            # In the chest.
            MotionRequest(
                "arm",
                link=LinkGoal(GRASP, region=Pose((0.75, 0.1, 0.6)), rotation=np.eye(3)),
                allowed_s=1.0,
            ),
            motion_planning.GOAL_IN_COLLISION,
        ),
    ],
)
def test_why_there_is_no_motion(stage: Stage, request_: MotionRequest, code: int) -> None:
    assert stage.group.plan(request_, None).code == code


def test_a_slower_motion_takes_longer_and_none_is_too_fast(stage: Stage) -> None:
    times = []
    for speed in (1.0, 0.25):
        request = MotionRequest("arm", joints={ARM[6]: (1.0, 0.01, 0.01)}, speed=speed)
        found = stage.group.plan(request, None).trajectory
        assert found is not None
        assert found.velocities is not None
        places = stage.sim.robot.indices(found.joints)
        assert (np.abs(found.velocities) <= stage.sim.robot.speed[places] * speed + 1e-9).all()
        times.append(found.times_s[-1])
    assert times[1] == pytest.approx(4 * times[0])


def test_a_newer_trajectory_makes_the_motion_fail(stage: Stage) -> None:
    ends = []
    request = MotionRequest("arm", joints={ARM[6]: (2.0, 0.01, 0.01)})
    stage.group.begin(request, None, plan_only=False, done=ends.append)
    stage.group.wait(5.0)
    stage.pass_time(0.2)
    here = stage.sim.q[stage.sim.robot.indices(ARM)]
    other = Trajectory(ARM, np.array([0.1]), here[None])
    stage.sim.follow("arm_controller", other, lambda _: None)
    assert [end.code for end in ends] == [motion_planning.CONTROL_FAILED]
