"""What depth and layout alone say of things on furniture."""

from __future__ import annotations

import numpy as np
import pytest

from planner.memory.learned.detector import Rising
from planner.memory.learned.segments import Cells, unnoticed
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.house_checks import load_house


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_0")


def tops(house: House, class_name: str) -> tuple[Furniture, Vec3, tuple[float, float]]:
    piece = next(p for p in house.furniture if p.class_name == class_name)
    surface = max(piece.surfaces, key=lambda s: s.center[2])
    return piece, piece.pose.apply(surface.center), surface.size


def rises(house: House, *points: Vec3, camera_m: Vec3 | None = None) -> list[bool]:
    found = Rising(house).of(np.array(points, np.float32), camera_m or points[0])
    return [bool(value) for value in found]


def test_what_is_above_a_table_rises_but_not_its_top_nor_what_is_beside_it(house: House) -> None:
    table, (x, y, z), _ = tops(house, "table")
    low, high = table.box.minimum_m, table.box.maximum_m
    points = [
        (x, y, z + 0.05), (x, y, z + 0.002), (x, y, z - 0.05), (x, y, z + 0.6),
        (low[0] - 0.1, y, z + 0.05), (x, high[1] + 0.1, z + 0.05),
    ]  # fmt: skip
    assert rises(house, *points) == [True, False, False, False, False, False]


def test_only_surfaces_near_the_camera_count(house: House) -> None:
    _, (x, y, z), _ = tops(house, "table")
    assert rises(house, (x, y, z + 0.05), camera_m=(x + 9.0, y, z)) == [False]


def test_furniture_that_stands_on_furniture_does_not_rise(house: House) -> None:
    stand, (x, y, z), (_, broad) = tops(house, "tv_stand")
    television = next(p for p in house.furniture if p.class_name == "tv")
    at = (*television.box.center_m[:2], z + 0.1)
    assert stand.box.contains(at, 0.3)
    assert rises(house, at) == [False]
    beside = [(x + dx, y + dy, z + 0.1) for dx in (-0.15, 0.15) for dy in (-0.15, 0.15)]
    assert broad > 0.3
    assert any(rises(house, *beside))


def test_what_is_turned_is_measured_along_its_own_sides(house: House) -> None:
    for piece in house.furniture:
        for surface in piece.surfaces:
            (cx, cy, cz), (long, broad) = surface.center, surface.size
            if min(long, broad) < 0.3 or surface.clearance < 0.3:
                continue
            corner = piece.pose.apply((cx + long / 2 - 0.06, cy + broad / 2 - 0.06, cz + 0.05))
            beyond = piece.pose.apply((cx + long / 2 + 0.06, cy, cz + 0.05))
            others = [p for p in house.furniture if p is not piece]
            if any(p.box.distance_m(at) < 0.1 for p in others for at in (corner, beyond)):
                continue
            assert rises(house, corner, beyond) == [True, False], piece.name


def cells(presence: np.ndarray, depth: np.ndarray) -> Cells:
    height, width = presence.shape
    rows, columns = np.mgrid[:height, :width]
    points = np.stack([columns * 0.01, rows * 0.01, depth], axis=2).astype(np.float32)
    blank = np.zeros((1, height, width), np.float32)
    colours = np.zeros((4 * height, 4 * width), np.uint8)
    measured = np.ones(presence.shape, bool)
    # Votes that agree on nothing.
    votes = points + np.random.default_rng(1).normal(0, 9, points.shape).astype(np.float32)
    return Cells(presence, blank, points, votes, measured, depth, colours, 100.0)


def test_what_rises_is_one_segment_unless_the_network_noticed_it_or_its_neighbour() -> None:
    presence = np.zeros((12, 20), np.float32)
    rising = np.zeros(presence.shape, bool)
    rising[2:5, 2:5] = rising[2:5, 9:12] = rising[8:11, 2:5] = True
    presence[3, 12] = presence[8:11, 2:5] = 0.9
    rising[8, 15] = True
    depth = np.ones(presence.shape, np.float32)
    (part,) = unnoticed(cells(presence, depth), rising, 0.3, 4)
    assert sorted(part.tolist()) == [row * 20 + column for row in (2, 3, 4) for column in (2, 3, 4)]
    depth[2:5, 4] = 1.5
    assert [len(part) for part in unnoticed(cells(presence, depth), rising, 0.3, 4)] == [6]
