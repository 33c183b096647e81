"""Primitives as triangles: closed, outward, within their boxes, cut as MuJoCo cuts them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from planner.world.shapes import OPEN_SHAPES, Axis, Part, Shape
from sim_bridge.habitat.dataset.meshes import (
    SLICES,
    part_triangles,
    points_to_habitat,
    to_habitat,
    yaw_to_habitat,
)

extents = st.floats(0.01, 3.0)
places = st.floats(-5.0, 5.0)
# Open shapes are made of these.
SOLID = [shape for shape in Shape if shape not in OPEN_SHAPES]


@st.composite
def parts(draw: st.DrawFn) -> Part:
    shape, axis = draw(st.sampled_from(SOLID)), draw(st.sampled_from(Axis))
    size = [draw(extents) for _ in range(3)]
    along = "xyz".index(axis)
    if shape is Shape.SPHERE:
        size = [size[0]] * 3
    elif shape in (Shape.CYLINDER, Shape.CAPSULE):
        across = size[(along + 1) % 3]
        size = [extent if i == along else across for i, extent in enumerate(size)]
        if shape is Shape.CAPSULE:
            size[along] = max(size[along], across)
    center = tuple(draw(places) for _ in range(3))
    return Part(shape=shape, center=center, size=tuple(size), rgb=(0.5, 0.5, 0.5), axis=axis)


@given(parts())
def test_a_part_is_closed_faces_outward_and_fills_its_box(part: Part) -> None:
    made = part_triangles(part)
    mesh = trimesh.Trimesh(made.corners, made.faces, process=False)
    mesh.merge_vertices(merge_norm=True, merge_tex=True)
    assert mesh.is_watertight
    assert mesh.volume > 0
    low, high = mesh.bounds
    box = np.array(part.size)
    # A polygon of 14 corners reaches its circle's sides in one direction and falls short of
    # them by cos(pi / 14) in the other.
    assert np.all(high - low <= box + 1e-9 + 2e-4)
    assert np.all(high - low >= box * np.cos(np.pi / SLICES) - 1e-9)
    assert (high + low) / 2 == pytest.approx(np.array(part.center), abs=0.03 * box.max() + 1e-9)
    assert np.linalg.norm(made.normals, axis=1) == pytest.approx(1.0)
    corners = made.corners[made.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.all(np.einsum("ij,ij->i", across, made.normals[made.faces].mean(axis=1)) >= -1e-12)


@given(places, places, places)
def test_z_of_the_map_is_y_in_habitat(x: float, y: float, z: float) -> None:
    assert to_habitat((x, y, z)) == (x, z, -y)
    assert tuple(points_to_habitat(np.array([[x, y, z]]))[0]) == to_habitat((x, y, z))


def test_a_rotation_about_z_is_one_about_y_in_habitat() -> None:
    half = math.sqrt(0.5)
    assert yaw_to_habitat(math.pi / 2) == pytest.approx((half, 0.0, half, 0.0))
