import math

import numpy as np
import pytest

from planner.memory.maps.occupancy import OccupancyMap, OccupancyOptions
from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics

SIZE = 96
CAMERA = Intrinsics(SIZE, SIZE, 150.0, 150.0, 47.5, 47.5)


def looking_down(height_m: float, depth_m: np.ndarray, x_m: float = 0.0) -> CameraFrame:
    """A frame of a camera that looks straight down, its picture's top towards +x."""
    # Optical z is down, optical x is -y of the map, optical y is -x.
    rotation = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    pose = Pose.from_matrix(np.array([x_m, 0.0, height_m]), rotation)
    rgb = np.zeros((SIZE, SIZE, 3), np.uint8)
    return CameraFrame(rgb, depth_m.astype(np.float32), None, CAMERA, pose)


def value(floor: FloorMap, x_m: float, y_m: float) -> int:
    row = int((y_m - floor.origin_m[1]) / floor.cell_m)
    column = int((x_m - floor.origin_m[0]) / floor.cell_m)
    return int(floor.cells[row, column])


def test_floor_is_free_what_stands_on_it_occupied_and_the_rest_unknown() -> None:
    depth_m = np.full((SIZE, SIZE), 2.0)
    # A box of 0.5 m in the half with y > 0.
    depth_m[:, :32] = 1.5
    built = OccupancyMap((0.0, 0.0, 0.0))
    built.update(looking_down(2.0, depth_m))
    floor = built.floor()
    assert value(floor, 0.0, -0.5) == FREE
    assert value(floor, 0.0, 0.4) == OCCUPIED
    assert value(floor, 3.0, 0.0) == UNKNOWN


@pytest.mark.parametrize(
    ("height_m", "expected"),
    [(0.05, FREE), (0.2, OCCUPIED), (0.6, OCCUPIED), (1.1, OCCUPIED), (1.3, UNKNOWN)],
)
def test_each_level_counts_and_what_is_over_the_head_does_not(
    height_m: float, expected: int
) -> None:
    built = OccupancyMap((0.0, 0.0, 0.0))
    built.update(looking_down(2.0, np.full((SIZE, SIZE), 2.0 - height_m)))
    assert value(built.floor(), 0.1, 0.1) == expected


def test_levels_are_summed() -> None:
    options = OccupancyOptions(occupied_points=1500, cell_m=0.4)
    built = OccupancyMap((0.0, 0.0, 0.0), options)
    low = looking_down(2.0, np.full((SIZE, SIZE), 1.7))
    high = looking_down(2.0, np.full((SIZE, SIZE), 1.5))
    for frame in (low, high):
        built.update(frame)
    alone = OccupancyMap((0.0, 0.0, 0.0), options)
    alone.update(low)
    both, one = built.floor().cells == OCCUPIED, alone.floor().cells == OCCUPIED
    assert not one.any()
    assert both.any()


def test_explored_by_count() -> None:
    built = OccupancyMap((0.0, 0.0, 0.0), OccupancyOptions(explored_points=3))
    depth_m = np.zeros((SIZE, SIZE))
    depth_m[48, 48] = 2.0
    frame = looking_down(2.0, depth_m)
    explored = []
    for _ in range(4):
        built.update(frame)
        explored.append(int((built.floor().cells != UNKNOWN).sum()))
    assert explored == [0, 0, 1, 1]


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf, -1.0, 9.0])
def test_depth_that_was_not_measured_or_is_too_far_says_nothing(bad: float) -> None:
    built = OccupancyMap((0.0, 0.0, 0.0))
    with np.errstate(invalid="ignore"):
        built.update(looking_down(2.0, np.full((SIZE, SIZE), bad)))
    assert (built.floor().cells == UNKNOWN).all()


def test_the_map_grows_around_what_is_kept() -> None:
    built = OccupancyMap((0.0, 0.0, 0.0), OccupancyOptions(side_m=2.0))
    floor_only = np.full((SIZE, SIZE), 2.0)
    built.update(looking_down(2.0, floor_only))
    before = built.floor()
    built.update(looking_down(2.0, floor_only, x_m=-7.0))
    after = built.floor()
    assert after.cells.size > before.cells.size
    assert value(after, 0.3, 0.4) == value(before, 0.3, 0.4) == FREE
    assert value(after, -7.3, 0.4) == FREE
    assert value(after, -4.0, 0.0) == UNKNOWN


def test_the_map_does_not_grow_without_end() -> None:
    built = OccupancyMap((0.0, 0.0, 0.0), OccupancyOptions(most_m=50.0))
    with pytest.raises(PlannerError, match="larger than 50 m"):
        built.update(looking_down(2.0, np.full((SIZE, SIZE), 2.0), x_m=1e4))


def test_a_body_stands_on_free_floor() -> None:
    built = OccupancyMap((0.0, 0.0, 0.0))
    built.stand((1.0, 1.0, 0.0), 0.28)
    floor = built.floor()
    assert value(floor, 1.2, 1.0) == FREE
    assert value(floor, 1.4, 1.0) == UNKNOWN


def test_values_at_points_and_what_is_added() -> None:
    floor = FloorMap(np.full((20, 40), FREE, np.int8), (1.0, 2.0), 0.1, stamp_s=7.0)
    assert floor.at((4.95, 3.95, 0.0)) == FREE
    assert floor.at((5.05, 3.95, 0.0)) == floor.at((0.95, 2.5, 0.0)) == UNKNOWN
    more = floor.occupied_at([(1.55, 2.25, 0.0), (9.0, 9.0, 0.0)])
    assert more.at((1.51, 2.21, 0.0)) == OCCUPIED
    assert (int((more.cells == OCCUPIED).sum()), more.stamp_s) == (1, 7.0)
    assert floor.at((1.51, 2.21, 0.0)) == FREE


def test_walkable_keeps_the_radius_from_what_is_occupied_only() -> None:
    cells = np.full((40, 40), FREE, np.int8)
    cells[:, 30:] = UNKNOWN
    cells[:, 5] = OCCUPIED
    grid = FloorMap(cells, (0.0, 0.0), 0.05).walkable(0.28)
    # A metre is twenty cells: the obstacle ends at 0.3 m.
    assert not grid.is_free(0.5, 1.0)
    assert grid.is_free(0.6, 1.0)
    assert grid.is_free(1.45, 1.0)
    assert not grid.is_free(1.55, 1.0)


@pytest.mark.parametrize("levels_m", [(0.1,), (0.4, 0.1), (0.1, 0.1, 0.2)])
def test_levels_have_to_rise(levels_m: tuple[float, ...]) -> None:
    with pytest.raises(PlannerError, match="rising"):
        OccupancyOptions(levels_m=levels_m)
