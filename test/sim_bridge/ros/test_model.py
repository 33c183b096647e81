"""The kinematics of the backend `ros`, from a robot's own description."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.world.errors import PlannerError
from planner.world.share import config_dir
from sim_bridge.ros.grasps import towards
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import RosOptions, default_ros

URDF = (config_dir() / "robots" / "emulator.urdf").read_text()
OPTIONS = default_ros()
MODEL = Model(URDF, OPTIONS)
JOINTS = OPTIONS.arm.joints


def with_arm(**changes: object) -> RosOptions:
    return OPTIONS.model_copy(update={"arm": OPTIONS.arm.model_copy(update=changes)})


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.1, 0.9), min_size=len(JOINTS), max_size=len(JOINTS)))
def test_a_pose_that_the_arm_can_take_is_found_again(shares: list[float]) -> None:
    bounds = [MODEL.bounds(name) for name in JOINTS]
    joints = {
        name: low + share * (high - low)
        for name, share, (low, high) in zip(JOINTS, shares, bounds, strict=True)
    }
    tool = MODEL.tool(joints)
    # Near where it is, as in practice.
    start = {name: value + 0.05 * (0.5 - joints[name] % 1.0) for name, value in joints.items()}
    found = MODEL.solve(tool, start)
    assert found is not None
    again = MODEL.tool(found)
    assert math.dist(again.position_m, tool.position_m) < 0.005
    turn = np.trace(tool.rotation().T @ again.rotation())
    assert math.acos(min(1.0, max(-1.0, (turn - 1) / 2))) < 0.12


def test_what_is_out_of_reach_is_not_found() -> None:
    far = towards((3.0, 0.0, 0.8), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert MODEL.solve(far, OPTIONS.arm.carry) is None


def test_the_gripper_points_where_the_settings_say() -> None:
    # At zero the emulated arm stretches forward; the tip's x is out of the gripper.
    tool = MODEL.tool(dict.fromkeys(JOINTS, 0.0))
    assert tool.rotation()[:, 0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert tool.rotation()[:, 1] == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    other = Model(URDF, with_arm(approach="z", closing="x", tool_m=0.1))
    turned = other.tool(dict.fromkeys(JOINTS, 0.0))
    assert turned.rotation()[:, 0] == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert turned.position_m[2] == pytest.approx(tool.position_m[2] + 0.1)


@settings(max_examples=25, deadline=None)
@given(st.floats(0.6, 2.0), st.floats(-0.8, 0.8), st.floats(0.0, 1.6))
def test_the_camera_looks_at_a_point(x: float, y: float, z: float) -> None:
    joints = MODEL.gaze((x, y, z), {})
    across, down, ahead = MODEL.optical(joints).inverse().apply((x, y, z))
    assert ahead > 0
    assert math.hypot(across, down) / ahead < 0.05


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (with_arm(tip="claw_link"), "arm.tip: the robot's description has no link 'claw_link'"),
        (
            with_arm(
                controllers=(
                    OPTIONS.arm.controllers[0],
                    OPTIONS.arm.controllers[1].model_copy(update={"joints": ("elbow",)}),
                )
            ),
            "arm.controllers.1.joints.0: the robot's description has no joint 'elbow'",
        ),
        (
            with_arm(carry={**OPTIONS.arm.carry, "torso_lift_joint": 2.0}),
            "arm.carry.torso_lift_joint: 2 is not within the joint's limits, 0 to 0.4",
        ),
    ],
)
def test_settings_that_do_not_fit_the_robot_are_named(options: RosOptions, says: str) -> None:
    with pytest.raises(PlannerError, match="emulated_mobile_manipulator") as caught:
        Model(URDF, options)
    assert says in str(caught.value)


def test_masses_that_cannot_be_do_not_matter() -> None:
    # As public descriptions have them: an inertia with a negative eigenvalue.
    wrong = URDF.replace('ixy="0"', 'ixy="0.1"')
    assert wrong != URDF
    posture = OPTIONS.arm.ready
    assert Model(wrong, OPTIONS).tool(posture) == MODEL.tool(posture)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"approach": "z"}, "arm.approach: z of 'gripper_grasping_frame' does not point out of"),
        ({"closing": "z"}, "arm.closing: z of 'gripper_grasping_frame' is not the direction"),
        ({}, ""),
    ],
)
def test_axes_of_the_gripper_that_contradict_the_description(
    changes: dict[str, str], says: str
) -> None:
    found = Model(URDF, with_arm(**changes)).wrong_axes
    assert found.startswith(says)
    assert bool(found) == bool(says)


@pytest.mark.parametrize(
    ("urdf", "says"),
    [
        ("", "is not well formed"),
        ("<robot", "is not well formed"),
        ("<house/>", "is no URDF"),
        ("<robot name='a'/>", "has no joint 'torso_lift_joint'"),
        ("<robot name='a'><joint name='b' type='fixed'/></robot>", "cannot be used"),
    ],
)
def test_a_description_that_is_none_is_said(urdf: str, says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        Model(urdf, OPTIONS)
