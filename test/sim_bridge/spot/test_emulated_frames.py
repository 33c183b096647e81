"""Frames of the emulated robot as the SDK's documents define them, read by the SDK's helpers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import world_object_pb2
from bosdyn.client.frame_helpers import (
    BODY_FRAME_NAME,
    GROUND_PLANE_FRAME_NAME,
    ODOM_FRAME_NAME,
    VISION_FRAME_NAME,
    get_a_tform_b,
)
from bosdyn.client.robot_state import RobotStateClient
from bosdyn.client.world_object import WorldObjectClient
from emulated_robot import connected, emulated

from sim_bridge.spot.emulator.fiducials import FIDUCIAL_IN_MAP, Marker
from sim_bridge.spot.emulator.house_world import LYING_HEIGHT_M
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


def tree_of(robot: Any) -> Any:
    client = robot.ensure_client(RobotStateClient.default_service_name)
    return client.get_robot_state().kinematic_state.transforms_snapshot


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
