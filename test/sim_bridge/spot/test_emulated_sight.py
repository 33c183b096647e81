"""The frames and cameras that the SDK's documents name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import image_pb2
from bosdyn.client.frame_helpers import get_a_tform_b, get_odom_tform_body
from bosdyn.client.image import (
    ImageClient,
    UnsupportedPixelFormatRequestedError,
    build_image_request,
)
from bosdyn.client.robot_state import RobotStateClient
from emulated_robot import connected, emulated

from sim_bridge.spot.emulator.server import SpotEmulator

DOCUMENTED = ("odom", "vision", "body", "flat_body", "gpe", "feet_center", "hand", "link_wr1")
CAMERAS = ("frontleft", "frontright", "left", "right", "back")


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


@pytest.fixture
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    with connected(emulator) as made:
        yield made


def test_the_documented_frames_are_in_the_state_and_where_they_should_be(
    emulator: SpotEmulator, robot: Any
) -> None:
    states = robot.ensure_client(RobotStateClient.default_service_name)
    tree = states.get_robot_state().kinematic_state.transforms_snapshot
    for frame in DOCUMENTED:
        assert get_a_tform_b(tree, "odom", frame) is not None, frame
    body = get_odom_tform_body(tree)
    ground = get_a_tform_b(tree, "odom", "gpe")
    flat = get_a_tform_b(tree, "odom", "flat_body")
    # Odometry begins at the body of the lying robot.
    assert ground.z == pytest.approx(body.z - 0.2, abs=1e-6)
    assert ground.z == pytest.approx(-0.2, abs=1e-6)
    assert (flat.x, flat.y, flat.z) == pytest.approx((body.x, body.y, body.z))
    assert get_a_tform_b(tree, "hand", "link_wr1").x < 0.0


def test_each_of_the_five_body_cameras_gives_colour_depth_and_registered_depth(
    emulator: SpotEmulator, robot: Any
) -> None:
    images = robot.ensure_client(ImageClient.default_service_name)
    names = {source.name for source in images.list_image_sources()}
    directions = []
    for camera in CAMERAS:
        wanted = [f"{camera}_fisheye_image", f"{camera}_depth", f"{camera}_depth_in_visual_frame"]
        assert set(wanted) <= names
        color, depth, registered = images.get_image_from_sources(wanted, timeout=60)
        picture = cv2.imdecode(np.frombuffer(color.shot.image.data, np.uint8), -1)
        # Grey, as the SDK's own programs take for granted where they name no format.
        assert picture.shape == (color.source.rows, color.source.cols)
        assert picture.std() > 1.0
        millimetres = np.frombuffer(depth.shot.image.data, np.uint16)
        assert len(millimetres) == depth.source.rows * depth.source.cols
        assert 0 < np.median(millimetres[millimetres > 0]) < 20_000
        assert registered.shot.frame_name_image_sensor == f"{camera}_fisheye"
        assert depth.shot.frame_name_image_sensor == camera
        looks = get_a_tform_b(
            color.shot.transforms_snapshot, "flat_body", f"{camera}_fisheye"
        ).transform_point(0.0, 0.0, 1.0)
        at = get_a_tform_b(color.shot.transforms_snapshot, "flat_body", f"{camera}_fisheye")
        directions.append(math.atan2(looks[1] - at.y, looks[0] - at.x))
    front_left, front_right, left, right, back = directions
    assert abs(front_left) < 0.5
    assert abs(front_right) < 0.5
    assert left == pytest.approx(math.pi / 2, abs=0.1)
    assert right == pytest.approx(-math.pi / 2, abs=0.1)
    assert abs(back) == pytest.approx(math.pi, abs=0.1)


def test_a_picture_comes_in_the_pixel_format_asked_for_and_not_as_what_it_is_not(
    robot: Any,
) -> None:
    images = robot.ensure_client(ImageClient.default_service_name)
    grey = image_pb2.Image.PIXEL_FORMAT_GREYSCALE_U8
    rgb = image_pb2.Image.PIXEL_FORMAT_RGB_U8
    raw = image_pb2.Image.FORMAT_RAW
    wanted = build_image_request("left_fisheye_image", image_format=raw, pixel_format=grey)
    (answer,) = images.get_image([wanted], timeout=60)
    assert answer.shot.image.pixel_format == grey
    assert len(answer.shot.image.data) == answer.source.rows * answer.source.cols
    wanted = build_image_request("left_fisheye_image", image_format=raw, pixel_format=rgb)
    (answer,) = images.get_image([wanted], timeout=60)
    assert len(answer.shot.image.data) == 3 * answer.source.rows * answer.source.cols
    with pytest.raises(UnsupportedPixelFormatRequestedError):
        images.get_image([build_image_request("left_depth", pixel_format=grey)], timeout=60)
