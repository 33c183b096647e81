"""EPM-C15 to EPM-C21, which concern the model's input."""

from __future__ import annotations

import numpy as np
import pytest

from planner.memory.camera import unproject
from planner.memory.vlm import (
    NEXT_UPDATE,
    NO_POINT,
    PREVIOUS_ACTION,
    PREVIOUS_MEMORY,
    cell_pixels,
    model_image,
    update_prompt,
    view_points,
)
from planner.world.belief import Entity
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics

LENS = Intrinsics(384, 384, 192.0, 192.0, 192.0, 192.0)


def frame(depth_m: float = 2.0, pose: Pose | None = None, size: int = 384) -> CameraFrame:
    depth = np.full((size, size), depth_m, np.float32)
    rgb = np.zeros((size, size, 3), np.uint8)
    return CameraFrame(rgb, depth, None, LENS, pose or Pose((0.0, 0.0, 0.0)))


def test_check_15_the_grid_runs_row_by_row_from_the_top_left() -> None:
    points = view_points(frame())
    assert len(points) == 64
    corners = [points[i] for i in (0, 7, 56, 63)]
    signs = [(p[0] > 0, p[1] > 0) for p in corners if p is not None]
    assert signs == [(False, False), (True, False), (False, True), (True, True)]


def test_check_16_cells_stand_for_their_middles() -> None:
    pixels = cell_pixels(384, 384)
    assert (pixels[0], pixels[9], pixels[63]) == ((24, 24), (72, 72), (360, 360))


def test_check_17_a_pixel_and_its_depth_are_a_point() -> None:
    pose = Pose((0.0, 0.0, 0.0))
    assert unproject(LENS, pose, (192, 192), 2.0) == pytest.approx((0, 0, 2))
    assert unproject(LENS, pose, (384, 192), 2.0) == pytest.approx((2, 0, 2))


def test_check_18_the_pose_is_applied() -> None:
    turned = Pose.planar(1.0, 0.0, np.pi / 2)
    straight, moved = view_points(frame())[0], view_points(frame(pose=turned))[0]
    assert straight is not None
    assert moved == pytest.approx((1.0 - straight[1], straight[0], straight[2]))


def test_a_cell_without_depth_takes_its_neighbours_or_says_so() -> None:
    holed = frame()
    holed.depth_m[20:30, 20:30] = 0
    holed.depth_m[48:96, :48] = np.nan
    points = view_points(holed)
    assert points[0] is not None
    assert points[8] is None
    assert NO_POINT in update_prompt(points, [], "")


def test_check_21_the_order_of_the_blocks_and_the_picture() -> None:
    cup = Entity(149, "cup_0", "cup", False, "cup", (-6.66, -0.04, 5.94), 0.4)
    table = Entity(100, "table_0", "table", True, "table", (-2.9, 0.2, -2.1))
    text = update_prompt(view_points(frame()), [cup, table], "Pick[Object.149]")
    marks = ["(-1.8, -1.8, 2.0)", PREVIOUS_ACTION, PREVIOUS_MEMORY]
    lines = ["Object 100 (-2.9, 0.2, -2.1): table"]
    lines.append("Object 149 (-6.7, -0.0, 5.9) seen from 0.4 m: cup")
    places = [text.index(mark) for mark in [*marks, *lines, NEXT_UPDATE]]
    assert places == sorted(places)
    assert f"{PREVIOUS_ACTION} Pick[Object.149]\n" in text
    assert text.endswith(NEXT_UPDATE)
    assert model_image(frame(size=192)).shape == (384, 384, 3)
