"""A map of the floor from depth images, which the robots of one house build together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap, disc
from planner.world.geometry import Pose, Vec3
from planner.world.memory_wire import FrameLinks
from planner.world.observation import (
    CameraFrame,
    DepthImage,
    Grip,
    Intrinsics,
    Observation,
    Sighting,
)

# From pixels with a depth to points, many at once (HELPER-2.8.1).

Points = NDArray[np.float32]


def points_in_map(frame: CameraFrame) -> Points:
    """(3, h * w) of x, y and z in `map`, in the order of the pixels; NaN or far off without depth.

    Pixels whose depth is 0 come out at the camera itself: callers have to leave them out.
    """
    return _placed(frame.depth_m, frame.intrinsics, frame.pose)


def points_in_reference(
    depth_m: DepthImage, intrinsics: Intrinsics, reference_to_camera: Pose
) -> Points:
    """(3, h * w) points in the reference view's frame.

    Args:
        depth_m: (h, w) along the optical axis.
        intrinsics: of the camera.
        reference_to_camera: the paper's G, which takes points of the reference view into this one;
            its inverse is applied.
    """
    return _placed(depth_m, intrinsics, reference_to_camera.inverse())


def _placed(depth_m: DepthImage, intrinsics: Intrinsics, camera: Pose) -> Points:
    rotation = camera.rotation().astype(np.float32)
    across, down = _rays(intrinsics)
    depth = np.asarray(depth_m, np.float32)
    points: Points = np.empty((3, *depth.shape), np.float32)
    for axis, (right, below, ahead) in enumerate(rotation):
        # A ray's columns and rows are independent: a sum of two vectors is cheaper than a product
        # of matrices.
        np.add((right * across)[None, :], (below * down + ahead)[:, None], out=points[axis])
        points[axis] *= depth
        points[axis] += np.float32(camera.position_m[axis])
    return points.reshape(3, -1)


@lru_cache(maxsize=8)
def _rays(intrinsics: Intrinsics) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(w,) and (h,): x of each column's and y of each row's points at depth 1, optical frame."""
    u = (np.arange(intrinsics.width_px) - intrinsics.cx_px) / intrinsics.fx_px
    v = (np.arange(intrinsics.height_px) - intrinsics.cy_px) / intrinsics.fy_px
    return u.astype(np.float32), v.astype(np.float32)


Counts = NDArray[np.int32]

# A hand is at most 0.45 m before the middle of its body, and what it holds is about it.
_CARRIED_M = 0.75
# Cells by which a map grows.
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class OccupancyOptions:
    """Sizes and thresholds, of which the paper states none (HELPER-D60).

    Attributes:
        cell_m: the side of a cell.
        levels_m: heights that separate the levels, rising: points below the first are floor; those
            at the last or above pass over the body's head.
        below_m: points further below the floor than this are errors of the sensor.
        range_m: depth beyond which nothing is believed; further away, the pixels' rows are further
            apart on the floor than cells are.
        explored_points: with so many points a cell counts as explored.
        occupied_points: with so many points on the levels above the floor it is occupied.
        side_m: of the map at the beginning; it grows.
        most_m: the side that it cannot grow beyond.
    """

    cell_m: float = 0.05
    levels_m: tuple[float, ...] = (0.1, 0.4, 0.8, 1.2)
    below_m: float = 0.1
    range_m: float = 4.0
    explored_points: int = 3
    occupied_points: int = 3
    side_m: float = 12.8
    most_m: float = 409.6

    def __post_init__(self) -> None:
        """Checks the levels.

        Raises:
            PlannerError: if they do not rise, or a size is not positive.
        """
        if len(self.levels_m) < 2 or list(self.levels_m) != sorted(set(self.levels_m)):
            raise PlannerError(f"levels_m: expected two or more rising heights: {self.levels_m}")
        if not (self.cell_m > 0 and self.range_m > 0 and self.side_m >= self.cell_m):
            raise PlannerError("an occupancy map needs positive sizes")


class OccupancyMap:
    """What the depth images of one house have shown of its floor."""

    def __init__(self, start_m: Vec3, options: OccupancyOptions | None = None) -> None:
        """Begins with nothing explored; `start_m` is in the middle."""
        self.options = options or OccupancyOptions()
        side = math.ceil(self.options.side_m / self.options.cell_m)
        half_m = side * self.options.cell_m / 2
        self._origin_m = (start_m[0] - half_m, start_m[1] - half_m)
        # One layer for the floor, then one for each level.
        layers = len(self.options.levels_m)
        self._counts: Counts = np.zeros((layers, side, side), np.int32)
        self._stood = np.zeros((side, side), np.bool_)
        self._stamp_s = 0.0

    def update(
        self, frame: CameraFrame, stamp_s: float = 0.0, carried_at_m: Vec3 | None = None
    ) -> None:
        """Adds the points of a depth image.

        Args:
            frame: with the depth.
            stamp_s: on the world's clock.
            carried_at_m: where a body stands that holds something: what is above the floor that
                close to it moves with it, and is left out.

        Raises:
            PlannerError: if the map would become too large.
        """
        options, self._stamp_s = self.options, stamp_s
        depth_m = frame.depth_m.reshape(-1)
        x, y, z = points_in_map(frame)
        # Comparisons with NaN are false.
        believed = (depth_m > 0) & (depth_m < options.range_m)
        believed &= (z > -options.below_m) & (z < options.levels_m[-1])
        if carried_at_m is not None:
            away_m2 = (x - carried_at_m[0]) ** 2 + (y - carried_at_m[1]) ** 2
            believed &= (away_m2 > _CARRIED_M**2) | (z < options.levels_m[0])
        at = np.flatnonzero(believed)
        if not len(at):
            return
        x, y, z = x[at], y[at], z[at]
        self._cover((float(x.min()), float(y.min())), (float(x.max()), float(y.max())))
        row = ((y - self._origin_m[1]) / options.cell_m).astype(np.intp)
        column = ((x - self._origin_m[0]) / options.cell_m).astype(np.intp)
        layer = np.zeros(len(at), np.intp)
        for height_m in options.levels_m[:-1]:
            layer += z >= height_m
        self._add(layer, row, column)

    def _add(
        self, layer: NDArray[np.intp], row: NDArray[np.intp], column: NDArray[np.intp]
    ) -> None:
        """Counts points in the part of the map that has them: the whole map is far larger."""
        top, left = int(row.min()), int(column.min())
        rows, columns = int(row.max()) + 1 - top, int(column.max()) + 1 - left
        layers = len(self._counts)
        index = (layer * rows + (row - top)) * columns + (column - left)
        counts = np.bincount(index, minlength=layers * rows * columns)
        part = self._counts[:, top : top + rows, left : left + columns]
        part += counts.reshape(layers, rows, columns).astype(np.int32)

    def stand(self, base_m: Vec3, radius_m: float) -> None:
        """Notes where a body is: the floor under it is free."""
        x, y, _ = base_m
        reach_m = radius_m + self.options.cell_m
        self._cover((x - reach_m, y - reach_m), (x + reach_m, y + reach_m))
        row = math.floor((y - self._origin_m[1]) / self.options.cell_m)
        column = math.floor((x - self._origin_m[0]) / self.options.cell_m)
        rows, columns = (disc(radius_m / self.options.cell_m) + np.array([row, column])).T
        self._stood[rows, columns] = True

    def floor(self) -> FloorMap:
        """What is known now."""
        options = self.options
        obstacles = self._counts[1:].sum(axis=0)
        explored = obstacles + self._counts[0] >= options.explored_points
        cells = np.full(explored.shape, UNKNOWN, np.int8)
        cells[explored] = FREE
        cells[explored & (obstacles >= options.occupied_points)] = OCCUPIED
        cells[self._stood] = FREE
        return FloorMap(cells, self._origin_m, options.cell_m, self._stamp_s)

    def _cover(self, low_m: tuple[float, float], high_m: tuple[float, float]) -> None:
        """Grows the map, by whole blocks, until it has these corners.

        Raises:
            PlannerError: beyond the largest side.
        """
        cell_m, origin = self.options.cell_m, self._origin_m
        rows, columns = self._stood.shape
        high = (origin[0] + columns * cell_m, origin[1] + rows * cell_m)
        # x before y, each below and above.
        missing = [
            (
                _blocks(origin[axis] - low_m[axis], cell_m),
                _blocks(high_m[axis] - high[axis], cell_m),
            )
            for axis in (0, 1)
        ]
        if not any(map(any, missing)):
            return
        (left, right), (below, above) = missing
        if max(rows + below + above, columns + left + right) * cell_m > self.options.most_m:
            raise PlannerError(
                f"the map would be larger than {self.options.most_m:g} m: {low_m} to {high_m}"
            )
        sides = ((below, above), (left, right))
        self._counts = np.pad(self._counts, ((0, 0), *sides))
        self._stood = np.pad(self._stood, sides)
        self._origin_m = (origin[0] - left * cell_m, origin[1] - below * cell_m)


def _blocks(missing_m: float, cell_m: float) -> int:
    """Cells to add where so much is missing; none where it is not."""
    if missing_m < 0:
        return 0
    return math.ceil((missing_m / cell_m + 1) / _BLOCK) * _BLOCK


# What an agent saw and from where, for the node and for recorded pictures alike.

CAMERA = "hand"


def hand_observation(
    frames: FrameLinks,
    agent: str,
    stamp_s: float,
    grip: Grip,
    *,
    optical_frame: str = "",
    pictures: Callable[[Pose], CameraFrame] | None = None,
    sightings: Sequence[Sighting] | None = None,
) -> Observation | None:
    """One exposure of the hand's camera, or what is seen without one; None without its frames.

    Args:
        frames: from which the poses of the agent's body and hand at that time are.
        agent: whose hand.
        stamp_s: of the exposure, on the world's clock.
        grip: of the hand.
        optical_frame: the camera's.
        pictures: decodes them, given that frame in `map`; None = there is no camera.
        sightings: what the agent sees, from a world without pictures.
    """
    # Look up frames before decoding pictures, which takes longer.
    base, odom, hand = (
        frames.pose(f"{agent}/{frame}", stamp_s) for frame in ("base_link", "odom", "hand")
    )
    if base is None or odom is None or hand is None:
        return None
    cameras, optical = {}, {}
    in_base = base.inverse()
    if pictures is not None:
        camera = frames.pose(optical_frame, stamp_s)
        if camera is None:
            return None
        cameras, optical = {CAMERA: pictures(camera)}, {CAMERA: in_base.compose(camera)}
    return Observation(
        stamp_s=stamp_s,
        agent=agent,
        base=base,
        odometry=odom.inverse().compose(base),
        linear_m_s=0.0,
        angular_rad_s=0.0,
        hand=in_base.compose(hand),
        joints={},
        gripper_opening=grip.opening,
        holding=grip.holding,
        cameras=cameras,
        optical=optical,
        sightings=sightings,
    )


# The map that the robots of one house build together, from what each of them senses.

# Floor that a body certainly stands on: that of the smallest one.
STANDS_M = 0.2


class FloorSurvey:
    """An occupancy map that begins where the first observation is made."""

    def __init__(self) -> None:
        self._map: OccupancyMap | None = None

    def add(self, observation: Observation) -> None:
        """Adds the hand camera's depth image, and that there is floor under the body.

        Raises:
            PlannerError: if the map would become too large.
        """
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return
        base_m = observation.base.position_m
        if self._map is None:
            self._map = OccupancyMap(base_m)
        self._map.stand(base_m, STANDS_M)
        carried_at_m = base_m if observation.holding else None
        self._map.update(frame, observation.stamp_s, carried_at_m)

    def newest(self) -> FloorMap | None:
        """What is known now; None before the first picture."""
        return None if self._map is None else self._map.floor()
