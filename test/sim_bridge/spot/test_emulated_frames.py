"""Frames of the emulated robot as the SDK's documents define them, read by the SDK's helpers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import robot_state_pb2, world_object_pb2
from bosdyn.client.frame_helpers import (
    BODY_FRAME_NAME,
    GROUND_PLANE_FRAME_NAME,
    ODOM_FRAME_NAME,
    VISION_FRAME_NAME,
    get_a_tform_b,
)
from bosdyn.client.image import ImageClient
from bosdyn.client.robot_command import RobotCommandBuilder
from bosdyn.client.robot_state import RobotStateClient
from bosdyn.client.world_object import WorldObjectClient
from emulated_robot import connected, emulated

from sim_bridge.spot.emulator.house_world import LYING_HEIGHT_M
from sim_bridge.spot.emulator.recorded_graph import FIDUCIAL_IN_MAP, Marker
from sim_bridge.spot.emulator.server import SpotEmulator

TAG = world_object_pb2.AprilTagProperties


@pytest.fixture(scope="module")
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


@pytest.fixture(scope="module")
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    with connected(emulator) as made:
        yield made


def state_of(robot: Any) -> Any:
    return robot.ensure_client(RobotStateClient.default_service_name).get_robot_state()


def tree_of(robot: Any) -> Any:
    return state_of(robot).kinematic_state.transforms_snapshot


def markers(robot: Any) -> list[Any]:
    client = robot.ensure_client(WorldObjectClient.default_service_name)
    kind = world_object_pb2.WORLD_OBJECT_APRILTAG
    return list(client.list_world_objects(object_type=[kind]).world_objects)


def test_a_marker_has_x_up_y_left_and_z_out_of_the_page(emulator: SpotEmulator, robot: Any) -> None:
    """It hangs at the origin and faces +x: who looks at it has +y on the right."""
    (marker,) = markers(robot)
    tag = marker.apriltag_properties
    boot = emulator.world.boot
    for name in (tag.frame_name_fiducial, tag.frame_name_fiducial_filtered):
        in_odom = get_a_tform_b(marker.transforms_snapshot, ODOM_FRAME_NAME, name)
        axes = boot.rotation() @ in_odom.rot.to_matrix()
        assert np.allclose(axes[:, 0], (0, 0, 1), atol=1e-6)
        assert np.allclose(axes[:, 1], (0, -1, 0), atol=1e-6)
        assert np.allclose(axes[:, 2], (1, 0, 0), atol=1e-6)
        middle = boot.apply((in_odom.x, in_odom.y, in_odom.z))
        assert np.allclose(middle, (0.0, 0.0, 1.0), atol=1e-6)
    assert (tag.frame_name_fiducial, tag.frame_name_fiducial_filtered) == (
        "fiducial_500",
        "filtered_fiducial_500",
    )
    assert (tag.fiducial_pose_status, tag.fiducial_filtered_pose_status) == (TAG.STATUS_OK,) * 2
    assert tag.dimensions.x == tag.dimensions.y == pytest.approx(0.146)


def test_markers_have_ages_and_statuses_and_are_listed_for_15_s(
    emulator: SpotEmulator, robot: Any
) -> None:
    kept = emulator.machine.markers[:]
    emulator.machine.markers += [
        Marker(7, FIDUCIAL_IN_MAP, age_s=14.0, status="STATUS_HIGH_ERROR"),
        Marker(8, FIDUCIAL_IN_MAP, filtered_status="STATUS_AMBIGUOUS"),
        Marker(9, FIDUCIAL_IN_MAP, age_s=16.0),
    ]
    found = {marker.apriltag_properties.tag_id: marker for marker in markers(robot)}
    emulator.machine.markers[:] = kept
    assert set(found) == {500, 7, 8}
    assert len({marker.id for marker in found.values()}) == 3
    age_s = found[500].acquisition_time.seconds - found[7].acquisition_time.seconds
    assert age_s == pytest.approx(14.0, abs=1.0)
    assert found[7].apriltag_properties.fiducial_pose_status == TAG.STATUS_HIGH_ERROR
    assert found[8].apriltag_properties.fiducial_filtered_pose_status == TAG.STATUS_AMBIGUOUS


def test_odometry_begins_at_the_body_and_the_ground_is_below_it(robot: Any) -> None:
    tree = tree_of(robot)
    body = get_a_tform_b(tree, ODOM_FRAME_NAME, BODY_FRAME_NAME)
    assert np.allclose((body.x, body.y, body.z), 0.0, atol=1e-6)
    assert body.rot.to_yaw() == pytest.approx(0.0, abs=1e-6)
    ground = get_a_tform_b(tree, ODOM_FRAME_NAME, GROUND_PLANE_FRAME_NAME)
    assert ground.z == pytest.approx(-LYING_HEIGHT_M)
    # The ground's frame is turned as odometry is, whichever way the robot looks.
    assert ground.rot.to_yaw() == pytest.approx(0.0, abs=1e-6)


def test_vision_and_odometry_are_two_frames(robot: Any) -> None:
    apart = get_a_tform_b(tree_of(robot), ODOM_FRAME_NAME, VISION_FRAME_NAME)
    assert math.hypot(apart.x, apart.y) > 0.1
    assert abs(apart.rot.to_yaw()) > 0.1


def test_velocities_are_those_of_their_frame(emulator: SpotEmulator, robot: Any) -> None:
    """The same motion, expressed in odometry and in vision (robot_state.proto, KinematicState)."""
    agent = emulator.world.agent
    agent.linear_m_s = 0.4
    state = state_of(robot).kinematic_state
    agent.linear_m_s = 0.0
    odom, vision = state.velocity_of_body_in_odom.linear, state.velocity_of_body_in_vision.linear
    vision_tform_odom = get_a_tform_b(state.transforms_snapshot, VISION_FRAME_NAME, ODOM_FRAME_NAME)
    turned = vision_tform_odom.rot.transform_point(odom.x, odom.y, 0.0)
    assert turned[:2] == pytest.approx((vision.x, vision.y))
    assert math.hypot(odom.x, odom.y) == pytest.approx(0.4)


def test_the_hand_is_0_196_m_before_the_wrist_and_not_turned_to_it(robot: Any) -> None:
    """arm_concepts.md, "Hand frame"."""
    apart = get_a_tform_b(tree_of(robot), "arm0.link_wr1", "hand")
    assert (apart.x, apart.y, apart.z) == pytest.approx((0.19557, 0.0, 0.0), abs=1e-6)
    assert apart.rot.w == pytest.approx(1.0)


def test_joints_have_the_sdks_names_and_signs(emulator: SpotEmulator, robot: Any) -> None:
    """spot_constants.proto has the order; knees bend to negative angles, the claw opens to them."""
    legs = [f"{leg}.{joint}" for leg in ("fl", "fr", "hl", "hr") for joint in ("hx", "hy", "kn")]
    arm = [f"arm0.{joint}" for joint in ("sh0", "sh1", "el0", "el1", "wr0", "wr1", "f1x")]
    machine = emulator.machine
    machine.gripper = machine.gripper_goal = 1.0
    state = state_of(robot)
    machine.gripper = machine.gripper_goal = 0.0
    joints = {joint.name: joint.position.value for joint in state.kinematic_state.joint_states}
    assert list(joints) == legs + arm
    assert all(joints[name] < 0 for name in legs if name.endswith("kn"))
    command = RobotCommandBuilder.claw_gripper_open_command().synchronized_command
    trajectory = command.gripper_command.claw_gripper_command.trajectory
    assert joints["arm0.f1x"] == pytest.approx(trajectory.points[-1].point)
    assert state.manipulator_state.gripper_open_percentage == pytest.approx(100.0)


def test_there_are_three_stops_and_the_software_one_is_the_endpoints(robot: Any) -> None:
    """As in a recorded state: all must be released before the robot runs (robot_state.proto)."""
    kinds = robot_state_pb2.EStopState
    stops = {stop.name: stop for stop in state_of(robot).estop_states}
    assert set(stops) == {"hardware_estop", "payload_estop", "software_estop"}
    assert stops["hardware_estop"].type == stops["payload_estop"].type == kinds.TYPE_HARDWARE
    assert stops["software_estop"].type == kinds.TYPE_SOFTWARE
    assert all(stop.HasField("timestamp") for stop in stops.values())


# How far the SDK's get_image.py turns each camera's picture to show it, counterclockwise.
ROTATION_DEG = {"back": 0, "frontleft": -78, "frontright": -102, "left": 0, "right": 180}


@pytest.mark.parametrize(("camera", "turn_deg"), ROTATION_DEG.items())
def test_a_body_cameras_picture_is_upright_once_it_is_turned_as_the_sdk_does(
    robot: Any, camera: str, turn_deg: int
) -> None:
    images = robot.ensure_client(ImageClient.default_service_name)
    (found,) = images.get_image_from_sources([f"{camera}_fisheye_image"], timeout=60)
    shot = found.shot
    frame = get_a_tform_b(shot.transforms_snapshot, shot.frame_name_image_sensor, BODY_FRAME_NAME)
    right, down, _ = frame.rot.transform_point(0.0, 0.0, 1.0)
    up_deg = math.degrees(math.atan2(-right, -down))
    assert math.remainder(up_deg + turn_deg, 360.0) == pytest.approx(0.0, abs=0.1)
