"""Recipes in metres: everything stays in the box and round things stay round at any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.furnishing import build_furniture, object_size
from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.shapes import Axis, Part, Shape, scale_parts

CATALOGUE = default_catalogue()
TOLERANCE_M = 0.002


def build(cls: FurnitureClass, size_m: Vec3) -> Furniture:
    return build_furniture(cls, f"{cls.name}_3", "kitchen_0", 1.0, -2.0, 0.5, size_m)


@st.composite
def pieces(draw: st.DrawFn) -> Furniture:
    cls = draw(st.sampled_from(list(CATALOGUE.furniture.values())))
    x, y, z = (
        draw(st.floats(low, high)) for low, high in zip(cls.size_min_m, cls.size_max_m, strict=True)
    )
    return build(cls, (x, y, z))


def inside(piece: Furniture, center: Vec3, size: Vec3) -> bool:
    depth, width, height = piece.size_m
    x, y, z = center
    a, b, c = (extent / 2 - TOLERANCE_M for extent in size)
    return abs(x) + a <= depth / 2 and abs(y) + b <= width / 2 and z - c >= 0 and z + c <= height


@given(pieces())
def test_everything_is_in_the_box_when_closed(piece: Furniture) -> None:
    for part in piece.parts:
        assert inside(piece, part.center, part.size)
    for interior in piece.interiors:
        assert inside(piece, interior.center, interior.size)
    for surface in piece.surfaces:
        assert inside(piece, surface.center, (*surface.size, 0.0))
        assert surface.clearance > 0.15
    for joint in piece.joints:
        assert inside(piece, joint.handle, (0.0, 0.0, 0.0))


@given(pieces())
def test_round_parts_are_round_at_any_size(piece: Furniture) -> None:
    for part in piece.parts:
        across = [
            extent for axis, extent in zip(Axis, part.size, strict=True) if axis is not part.axis
        ]
        if part.shape in (Shape.CYLINDER, Shape.CAPSULE):
            assert across[0] == across[1]
        if part.shape is Shape.CAPSULE:
            assert part.size["xyz".index(part.axis)] >= across[0]


@given(pieces())
def test_drawers_come_out_by_no_more_than_their_depth(piece: Furniture) -> None:
    for joint in piece.joints:
        if joint.kind == "slide":
            assert 0.15 < joint.travel < piece.size_m[0]
        else:
            assert 0.5 < abs(joint.travel) < math.pi


def test_a_piece_stands_where_it_is_put_with_its_class_defaults() -> None:
    cls = CATALOGUE.furniture["sink"]
    sink = build(cls, cls.size_max_m)
    assert (sink.class_name, sink.room, sink.x_m, sink.y_m, sink.yaw_rad) == (
        "sink", "kitchen_0", 1.0, -2.0, 0.5,
    )  # fmt: skip
    assert sink.states == {"clean": True}
    assert sink.affordances == cls.affordances
    assert sink.faucet is not None
    assert sink.faucet[2] == pytest.approx(cls.faucet[2] * cls.size_max_m[2], abs=1e-4)  # type: ignore[index]
    assert build(CATALOGUE.furniture["shelves"], (0.3, 1.0, 1.4)).states == {"clean": True}
    assert build(CATALOGUE.furniture["tv"], (0.3, 1.0, 1.3)).states == {"powered_on": False}


def test_a_sphere_takes_the_narrowest_extent() -> None:
    ball = Part(shape=Shape.SPHERE, center=(0, 0, 0.5), size=(1, 1, 1), rgb=(1, 0, 0))
    assert scale_parts([ball], (0.3, 0.2, 0.4))[0].size == (0.2, 0.2, 0.2)


@given(st.sampled_from(list(CATALOGUE.objects.values())), st.integers(0, 2**32 - 1))
def test_object_sizes_keep_their_proportions(cls: ObjectClass, seed: int) -> None:
    size = object_size(cls, np.random.default_rng(seed))
    assert size == object_size(cls, np.random.default_rng(seed))
    factors = [drawn / usual for drawn, usual in zip(size, cls.size_m, strict=True)]
    assert all(abs(factor - 1) <= cls.size_spread + 0.03 for factor in factors)
    largest = cls.size_m.index(max(cls.size_m))
    for extent, usual in zip(size, cls.size_m, strict=True):
        assert extent == pytest.approx(usual * factors[largest], abs=2e-4)
