"""Grasps from depth: pictures are computed here, of boxes on a plane, by rays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray, Pose, Vec3
from planner.world.observation import CameraFrame, Intrinsics
from sim_bridge.ros.grasps import grasps_for, standing_at

LENS = Intrinsics(320, 240, 280.0, 280.0, 160.0, 120.0)
TABLE_M = 0.75


def looking_at(eye: Vec3, point: Vec3) -> Pose:
    """An optical frame: z towards a point, x level."""
    forward = np.subtract(point, eye)
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right = right / np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward], axis=1)
    return Pose.from_matrix(np.array(eye), rotation)


def picture(*boxes: tuple[Vec3, Vec3, float], eye: Vec3 = (0.0, 0.0, 1.4)) -> CameraFrame:
    """Depth of boxes (centre, size, yaw) on a table, by rays."""
    pose = looking_at(eye, boxes[0][0] if boxes else (0.8, 0.0, TABLE_M))
    rows, columns = np.mgrid[0 : LENS.height_px, 0 : LENS.width_px]
    rays = np.stack(
        [
            (columns - LENS.cx_px) / LENS.fx_px,
            (rows - LENS.cy_px) / LENS.fy_px,
            np.ones_like(rows, float),
        ],
        axis=-1,
    )
    turned = rays @ pose.rotation().T
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(turned[..., 2] < 0, (TABLE_M - eye[2]) / turned[..., 2], np.inf)
        for center, size, yaw in boxes:
            depth = np.minimum(depth, _box(np.array(eye), turned, center, size, yaw))
    depth = np.where(np.isfinite(depth) & (depth < 5.0), depth, 0.0).astype(np.float32)
    rgb = np.zeros((*depth.shape, 3), np.uint8)
    return CameraFrame(rgb, depth, None, LENS, pose)


def _box(eye: FloatArray, rays: FloatArray, center: Vec3, size: Vec3, yaw: float) -> FloatArray:
    c, s = math.cos(yaw), math.sin(yaw)
    into = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    start, ways = into @ (eye - np.array(center)), rays @ into.T
    half = np.array(size) / 2
    near, far = (-half - start) / ways, (half - start) / ways
    first = np.minimum(near, far).max(axis=-1)
    last = np.maximum(near, far).min(axis=-1)
    return np.where((first < last) & (first > 0), first, np.inf)


@settings(max_examples=40, deadline=None)
@example(x=0.87890625, y=0.0, length=0.130859375, width=0.0625, height=0.2, yaw=0.0)
@given(
    x=st.floats(0.5, 0.9),
    y=st.floats(-0.25, 0.25),
    length=st.floats(0.06, 0.2),
    width=st.floats(0.03, 0.09),
    height=st.floats(0.03, 0.2),
    yaw=st.floats(-1.5, 1.5),
)
def test_what_stands_on_a_table_is_measured(
    x: float, y: float, length: float, width: float, height: float, yaw: float
) -> None:
    center = (x, y, TABLE_M + height / 2)
    seen = standing_at(picture((center, (length, width, height), yaw)), center)
    assert seen.support_m == pytest.approx(TABLE_M, abs=0.006)
    assert seen.size_m[2] == pytest.approx(height, abs=0.012)
    # Seen from above its whole outline shows.
    longer, shorter = max(length, width), min(length, width)
    assert seen.size_m[0] == pytest.approx(longer, abs=0.02)
    assert seen.size_m[1] == pytest.approx(shorter, abs=0.02)
    assert math.dist(seen.center_m, center) < 0.02


@settings(max_examples=40, deadline=None)
@given(width=st.floats(0.02, 0.09), height=st.floats(0.02, 0.25), yaw=st.floats(-1.5, 1.5))
def test_grasps_close_around_the_thing_and_clear_of_the_table(
    width: float, height: float, yaw: float
) -> None:
    center = (0.7, 0.0, TABLE_M + height / 2)
    seen = standing_at(picture((center, (width * 1.5, width, height), yaw)), center)
    for grasp in grasps_for(seen, 0.11):
        x, y, z = grasp.tool.position_m
        assert math.hypot(x - center[0], y - center[1]) < 0.03
        assert TABLE_M + 0.01 <= z <= TABLE_M + height + 0.02
        assert grasp.above_m == pytest.approx(z - seen.support_m)
        assert grasp.width_m < 0.11
        approach, closing = grasp.tool.rotation()[:, 0], grasp.tool.rotation()[:, 1]
        assert abs(closing[2]) < 1e-9
        assert approach[2] == pytest.approx(-1.0 if grasp.kind == "top" else 0.0, abs=1e-9)
        if grasp.kind == "side":
            # Away from the robot, never towards it.
            assert approach[0] > 0.3


def test_a_thing_under_a_shelf_is_taken_from_the_side() -> None:
    center = (0.7, 0.0, TABLE_M + 0.06)
    seen = standing_at(picture((center, (0.07, 0.07, 0.12), 0.3)), center)
    assert {grasp.kind for grasp in grasps_for(seen, 0.11, covered=True)} == {"side"}


def test_the_nearest_of_two_things_is_meant() -> None:
    here, there = (0.7, 0.1, TABLE_M + 0.05), (0.7, -0.12, TABLE_M + 0.05)
    frame = picture((here, (0.06, 0.06, 0.1), 0.0), (there, (0.08, 0.08, 0.1), 0.0))
    assert math.dist(standing_at(frame, here).center_m, here) < 0.02
    assert math.dist(standing_at(frame, there).center_m, there) < 0.02


@pytest.mark.parametrize(
    ("boxes", "target", "says"),
    [
        ((), (0.8, 0.0, TABLE_M + 0.05), "nothing stands out of the surface"),
        ((), (0.8, 0.0, 2.0), "does not show the place"),
        (
            (((0.8, 0.0, TABLE_M + 0.1), (0.55, 0.5, 0.2), 0.0),),
            (0.8, 0.0, TABLE_M + 0.1),
            "no single thing",
        ),
    ],
)
def test_what_cannot_be_taken_is_said(
    boxes: tuple[tuple[Vec3, Vec3, float], ...], target: Vec3, says: str
) -> None:
    with pytest.raises(PlannerError, match=says):
        standing_at(picture(*boxes), target)


def test_a_thing_wider_than_the_gripper_is_said() -> None:
    center = (0.7, 0.0, TABLE_M + 0.08)
    seen = standing_at(picture((center, (0.2, 0.18, 0.16), 0.0)), center)
    with pytest.raises(PlannerError, match=r"it is 0\.1\d m wide .* the gripper opens 0\.11 m"):
        grasps_for(seen, 0.11)
