"""The emulated arm as the SDK commands it: joints, poses, stowing, picks and walks to objects."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import arm_command_pb2, geometry_pb2, manipulation_api_pb2, robot_state_pb2
from bosdyn.client.frame_helpers import get_a_tform_b
from bosdyn.client.image import ImageClient
from bosdyn.client.manipulation_api_client import ManipulationApiClient
from bosdyn.client.robot_command import (
    RobotCommandBuilder,
    RobotCommandClient,
    block_until_arm_arrives,
)
from bosdyn.client.robot_state import RobotStateClient
from emulated_robot import connected, emulated, standing
from foreign_programs import put_before_thing

from planner.world.geometry import Pose, Vec3
from sim_bridge.spot.emulator.body_geometry import hand_in_body, joints_for
from sim_bridge.spot.emulator.manipulation_service import OFFSET_M, RAYCAST
from sim_bridge.spot.emulator.server import SpotEmulator

READY = (0.0, -0.9, 1.8, 0.0, -0.9, 0.0)


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


@pytest.fixture
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    with connected(emulator) as made:
        yield made


@pytest.fixture
def thing(emulator: SpotEmulator) -> Vec3:
    """In the odometry frame, before the robot."""
    _, point = put_before_thing(emulator.world)
    return emulator.world.boot.inverse().apply(point)


@pytest.fixture
def commands(robot: Any, thing: Vec3) -> Iterator[RobotCommandClient]:
    with standing(robot) as made:
        yield made


def tree(robot: Any) -> Any:
    states = robot.ensure_client(RobotStateClient.default_service_name)
    return states.get_robot_state().kinematic_state.transforms_snapshot


def told_of_arm(commands: RobotCommandClient, number: int) -> Any:
    told = commands.robot_command_feedback(number).feedback.synchronized_feedback
    return told.arm_command_feedback.arm_cartesian_feedback


def ends_as(robot: Any, request: Any, *, most_s: float = 30.0) -> tuple[str, Any]:
    """Sends a request to the manipulation service; its last state, and the response of that."""
    client = robot.ensure_client(ManipulationApiClient.default_service_name)
    number = client.manipulation_api_command(request).manipulation_cmd_id
    ask = manipulation_api_pb2.ManipulationApiFeedbackRequest(manipulation_cmd_id=number)
    under_way = ("WALKING_TO_OBJECT", "MOVING_TO_GRASP")
    ends_s = time.monotonic() + most_s
    while True:
        told = client.manipulation_api_feedback_command(ask)
        state = manipulation_api_pb2.ManipulationFeedbackState.Name(told.current_state)
        state = state.removeprefix("MANIP_STATE_")
        if state not in under_way or time.monotonic() > ends_s:
            return state, told
        time.sleep(0.1)


def test_joints_come_to_where_they_are_told_and_the_hand_to_where_they_bring_it(
    robot: Any, commands: RobotCommandClient
) -> None:
    wanted = (0.3, -0.8, 1.6, 0.1, -0.5, 0.2)
    number = commands.robot_command(RobotCommandBuilder.arm_joint_command(*wanted))
    assert block_until_arm_arrives(commands, number, 10.0)
    states = robot.ensure_client(RobotStateClient.default_service_name)
    kinematic = states.get_robot_state().kinematic_state
    joints = {joint.name: joint.position.value for joint in kinematic.joint_states}
    told = [joints[f"arm0.{name}"] for name in ("sh0", "sh1", "el0", "el1", "wr0", "wr1")]
    assert told == pytest.approx(wanted)
    hand = get_a_tform_b(kinematic.transforms_snapshot, "body", "hand")
    assert (hand.x, hand.y, hand.z) == pytest.approx(hand_in_body(wanted).position_m, abs=1e-6)
    points = [RobotCommandBuilder.create_arm_joint_trajectory_point(*READY) for _ in range(251)]
    trajectory = arm_command_pb2.ArmJointTrajectory(points=points)
    with pytest.raises(Exception, match="ill-formed"):
        commands.robot_command(_joint_command(trajectory))


def _joint_command(trajectory: Any) -> Any:
    command = RobotCommandBuilder.arm_joint_command(*READY)
    request = command.synchronized_command.arm_command.arm_joint_move_command
    request.trajectory.CopyFrom(trajectory)
    return command


def test_the_hand_is_where_a_pose_puts_it_and_one_out_of_reach_stalls(
    robot: Any, commands: RobotCommandClient
) -> None:
    goal = RobotCommandBuilder.arm_pose_command(0.8, 0.1, 0.2, 1, 0, 0, 0, "flat_body", 1.0)
    number = commands.robot_command(goal)
    assert block_until_arm_arrives(commands, number, 10.0)
    assert told_of_arm(commands, number).measured_pos_distance_to_goal == 0.0
    hand = get_a_tform_b(tree(robot), "flat_body", "hand")
    assert (hand.x, hand.y, hand.z) == pytest.approx((0.8, 0.1, 0.2), abs=1e-6)
    far = RobotCommandBuilder.arm_pose_command(3.0, 0.0, 0.2, 1, 0, 0, 0, "flat_body", 0.5)
    number = commands.robot_command(far)
    assert not block_until_arm_arrives(commands, number, 10.0)
    arm = commands.robot_command_feedback(
        number
    ).feedback.synchronized_feedback.arm_command_feedback
    kinds = arm_command_pb2.ArmCartesianCommand.Feedback
    assert arm.arm_cartesian_feedback.status == kinds.STATUS_TRAJECTORY_STALLED


def test_the_arm_is_stowed_only_with_what_may_be_stowed(
    robot: Any, commands: RobotCommandClient
) -> None:
    client = robot.ensure_client(ManipulationApiClient.default_service_name)
    states = robot.ensure_client(RobotStateClient.default_service_name)
    held, carried = manipulation_api_pb2.ApiGraspOverride, robot_state_pb2.ManipulatorState
    for carry, stows in (
        (carried.CARRY_STATE_CARRIABLE, False),
        (carried.CARRY_STATE_CARRIABLE_AND_STOWABLE, True),
    ):
        client.grasp_override_command(
            manipulation_api_pb2.ApiGraspOverrideRequest(
                api_grasp_override=held(override_request=held.OVERRIDE_HOLDING),
                carry_state_override=manipulation_api_pb2.ApiGraspedCarryStateOverride(
                    override_request=carry
                ),
            )
        )
        arm = states.get_robot_state().manipulator_state
        assert arm.is_gripper_holding_item
        assert arm.carry_state == carry
        number = commands.robot_command(RobotCommandBuilder.arm_stow_command())
        assert block_until_arm_arrives(commands, number, 10.0) is stows
    assert states.get_robot_state().manipulator_state.stow_state == carried.STOWSTATE_STOWED


def test_a_point_in_space_a_ray_and_a_plan_pick_what_they_mean(
    emulator: SpotEmulator, robot: Any, commands: RobotCommandClient, thing: Vec3
) -> None:
    api = manipulation_api_pb2
    x, y, z = thing
    pick = api.PickObject(frame_name="odom", object_rt_frame=geometry_pb2.Vec3(x=x, y=y, z=z))
    assert ends_as(robot, api.ManipulationApiRequest(pick_object=pick))[0] == "GRASP_SUCCEEDED"
    assert emulator.world.agent.holding is not None
    air = api.PickObject(frame_name="odom", object_rt_frame=geometry_pb2.Vec3(x=x, y=y, z=z + 1.5))
    state, _ = ends_as(robot, api.ManipulationApiRequest(pick_object=air))
    assert state == "GRASP_PLANNING_NO_SOLUTION"
    commands.robot_command(RobotCommandBuilder.claw_gripper_open_command())
    time.sleep(1.0)
    emulator.advance()
    assert emulator.world.agent.holding is None
    # It lies elsewhere now; a ray from the hand's camera is led through it.
    found = min(
        emulator.world.world.things.values(),
        key=lambda each: math.dist(
            emulator.world.base.inverse().apply(each.center_m)[:2], (0.8, 0.0)
        ),
    )
    end = emulator.world.boot.inverse().apply(found.center_m)
    start = (end[0], end[1], end[2] + 0.5)
    ray = api.PickObjectRayInWorld(
        frame_name="odom",
        ray_start_rt_frame=geometry_pb2.Vec3(x=start[0], y=start[1], z=start[2]),
        ray_end_rt_frame=geometry_pb2.Vec3(x=end[0], y=end[1], z=end[2]),
        walk_gaze_mode=api.PICK_PLAN_ONLY,
    )
    request = api.ManipulationApiRequest(pick_object_ray_in_world=ray)
    assert ends_as(robot, request)[0] == "GRASP_PLANNING_SUCCEEDED"
    assert emulator.world.agent.holding is None
    execute = api.ManipulationApiRequest(pick_object_execute_plan=api.PickObjectExecutePlan())
    assert ends_as(robot, execute)[0] == "GRASP_SUCCEEDED"


def test_it_walks_up_to_what_a_pixel_or_a_ray_shows(
    emulator: SpotEmulator, robot: Any, commands: RobotCommandClient, thing: Vec3
) -> None:
    api = manipulation_api_pb2
    images = robot.ensure_client(ImageClient.default_service_name)
    (picture,) = images.get_image_from_sources(["hand_color_image"], timeout=60)
    walk = api.WalkToObjectInImage(
        pixel_xy=geometry_pb2.Vec2(x=picture.source.cols / 2, y=picture.source.rows * 0.7),
        transforms_snapshot_for_camera=picture.shot.transforms_snapshot,
        frame_name_image_sensor=picture.shot.frame_name_image_sensor,
        camera_model=picture.source.pinhole,
    )
    state, told = ends_as(robot, api.ManipulationApiRequest(walk_to_object_in_image=walk))
    assert state == "DONE"
    target = get_a_tform_b(told.transforms_snapshot_manipulation_data, "odom", RAYCAST)
    assert target is not None
    body = get_a_tform_b(tree(robot), "odom", "body")
    gap_m = math.hypot(target.x - body.x, target.y - body.y)
    # Straight there, or until something stands in the way.
    assert gap_m == pytest.approx(OFFSET_M, abs=0.02) or _blocked(emulator)
    x, y, z = thing
    hand = get_a_tform_b(tree(robot), "odom", "hand")
    back = api.WalkToObjectRayInWorld(
        frame_name="odom",
        ray_start_rt_frame=geometry_pb2.Vec3(x=hand.x, y=hand.y, z=hand.z),
        ray_end_rt_frame=geometry_pb2.Vec3(x=x, y=y, z=z),
    )
    back.offset_distance.value = 1.3
    state, told = ends_as(robot, api.ManipulationApiRequest(walk_to_object_ray_in_world=back))
    assert state == "DONE"
    target = get_a_tform_b(told.transforms_snapshot_manipulation_data, "odom", RAYCAST)
    body = get_a_tform_b(tree(robot), "odom", "body")
    assert math.hypot(target.x - body.x, target.y - body.y) == pytest.approx(
        1.3, abs=0.02
    ) or _blocked(emulator)


def _blocked(emulator: SpotEmulator) -> bool:
    grasp = emulator.machine.grasp
    return grasp is not None and grasp.walk is not None and grasp.walk.blocked


@pytest.mark.parametrize("seed", range(5))
def test_inverse_kinematics_finds_joints_for_what_joints_reach_and_none_beyond(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joints = np.array(READY) + rng.uniform(-0.4, 0.4, 6)
    hand = hand_in_body(tuple(joints.tolist()))
    found = joints_for(hand)
    assert found is not None
    there = hand_in_body(found)
    assert there.position_m == pytest.approx(hand.position_m, abs=5e-3)
    turn = hand.inverse().compose(there).orientation
    assert abs(turn[3]) == pytest.approx(1.0, abs=1e-4)
    assert joints_for(Pose((1.6, 0.0, 0.2))) is None
