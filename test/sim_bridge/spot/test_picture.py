"""Pictures of the robot: pixel formats, camera models, and cameras that are mounted rolled."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")

from bosdyn.api import image_pb2

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.embedded.sensing import optical_rotation
from sim_bridge.spot.convert import fill_tree
from sim_bridge.spot.picture import quarter_turns, read_picture, turned

IMAGE = image_pb2.Image
ROWS, COLS = 4, 6


def answer(pixels: Any, pixel_format: int, on_body: Pose | None = None) -> Any:
    """An image response of a camera in the body's frame, which is odometry's as well."""
    found = image_pb2.ImageResponse(status=image_pb2.ImageResponse.STATUS_OK)
    found.source.name, found.source.depth_scale = "some_image", 1000.0
    lens = found.source.pinhole.intrinsics
    lens.focal_length.x, lens.focal_length.y = 5.0, 7.0
    lens.principal_point.x, lens.principal_point.y = 2.0, 1.5
    image = found.shot.image
    image.rows, image.cols = ROWS, COLS
    image.format, image.pixel_format = IMAGE.FORMAT_RAW, pixel_format
    image.data = pixels.tobytes()
    found.shot.frame_name_image_sensor = "camera"
    here = Pose((0.0, 0.0, 0.0))
    frames = {"body": ("", here), "odom": ("body", here), "camera": ("body", on_body or here)}
    fill_tree(found.shot.transforms_snapshot, frames)
    return found


def rgb() -> Any:
    return np.arange(ROWS * COLS * 3, dtype=np.uint8).reshape(ROWS, COLS, 3)


def depth() -> Any:
    millimetres = 1000 + np.arange(ROWS * COLS, dtype="<u2").reshape(ROWS, COLS)
    millimetres[0, 0], millimetres[0, 1] = 0, 65535
    return millimetres


def color_and_depth(on_body: Pose | None = None) -> tuple[Any, Any]:
    return (
        answer(rgb(), IMAGE.PIXEL_FORMAT_RGB_U8, on_body),
        answer(depth(), IMAGE.PIXEL_FORMAT_DEPTH_U16, on_body),
    )


def test_depth_is_in_millimetres_by_its_scale_and_0_and_the_greatest_are_no_depth() -> None:
    """image.proto, PIXEL_FORMAT_DEPTH_U16 and depth_scale; image.py, MAX_DEPTH_IMAGE_RANGE."""
    found = read_picture(*color_and_depth())
    assert found.depth_m[0, 0] == found.depth_m[0, 1] == 0.0
    assert found.depth_m[1, 2] == pytest.approx(1.008)
    assert (found.rgb == rgb()).all()


def test_transparent_and_grey_pictures_are_read_and_others_are_one_error() -> None:
    _, deep = color_and_depth()
    alpha = np.dstack([rgb(), np.full((ROWS, COLS), 255, np.uint8)])
    found = read_picture(answer(alpha, IMAGE.PIXEL_FORMAT_RGBA_U8), deep)
    assert (found.rgb == rgb()).all()
    grey = rgb()[:, :, 0]
    found = read_picture(answer(grey, IMAGE.PIXEL_FORMAT_GREYSCALE_U8), deep)
    assert (found.rgb == grey[:, :, None]).all()
    with pytest.raises(PlannerError, match=r"some_image.*48 bytes are no colour or grey picture"):
        read_picture(answer(depth(), IMAGE.PIXEL_FORMAT_GREYSCALE_U16), deep)
    short = answer(depth()[:2], IMAGE.PIXEL_FORMAT_DEPTH_U16)
    with pytest.raises(PlannerError, match="24 bytes are no raw depth picture of 6 x 4 pixels"):
        read_picture(answer(rgb(), IMAGE.PIXEL_FORMAT_RGB_U8), short)


def test_a_camera_that_is_no_pinhole_is_refused_by_its_model() -> None:
    color, deep = color_and_depth()
    color.source.kannala_brandt.SetInParent()
    with pytest.raises(PlannerError, match="its camera model is kannala_brandt; only pinhole"):
        read_picture(color, deep)


def rolled(clockwise_deg: float, tilt_rad: float = 0.3) -> Pose:
    """A camera that looks ahead and down, turned clockwise about its view."""
    upright = Pose.from_matrix(np.array((0.4, 0.1, 0.2)), optical_rotation(0.2, tilt_rad))
    return upright.compose(Pose.planar(0.0, 0.0, math.radians(clockwise_deg)))


@pytest.mark.parametrize(
    ("clockwise_deg", "turns"), [(0, 0), (78, 3), (102, 3), (180, 2), (-90, 1), (20, 0)]
)
def test_a_rolled_cameras_picture_is_turned_by_the_nearest_quarters(
    clockwise_deg: float, turns: int
) -> None:
    """Pixels, pinhole, depth and frame turn together: every pixel shows the point it did before."""
    pair = color_and_depth(rolled(clockwise_deg))
    plain, found = read_picture(*pair), read_picture(*pair, upright=True)
    assert quarter_turns(rolled(clockwise_deg)) == found.turns == turns
    assert plain.turns == 0
    assert abs(up_in(found.in_odom)) < math.radians(45.0)
    for row, col in itertools.product(range(1, ROWS - 1), range(1, COLS - 1)):
        before = plain.point_at((float(col), float(row)))
        assert before is not None
        place = found.pixel_of(before)
        assert place is not None
        assert found.point_at(place) == pytest.approx(before)
        assert (found.rgb[round(place[1]), round(place[0])] == plain.rgb[row, col]).all()
    assert found.color is pair[0]


def up_in(optical: Pose) -> float:
    """How far up is from a picture's top, counterclockwise."""
    right, down, _ = optical.rotation()[2]
    return math.atan2(-right, -down)


def test_four_quarters_are_none_and_looking_down_there_is_no_up() -> None:
    found = read_picture(*color_and_depth(rolled(0)))
    again = turned(found, 4)
    assert (again.rgb == found.rgb).all()
    assert again.intrinsics == found.intrinsics
    assert quarter_turns(rolled(90.0, tilt_rad=math.pi / 2)) == 0
