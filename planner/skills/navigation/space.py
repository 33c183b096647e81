"""What a navigation policy observes and does: the same in training and on a body."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Pose
from planner.world.observation import DepthImage, Intrinsics
from planner.world.primitive import Drive, DriveLimits

# The depth picture, square, of the hand's camera.
CAMERA = "hand"
PICTURE_PX = 64
# The map around the body: cells along one side, their size, and what each layer marks.
CELLS = 64
CELL_M = 0.1
LAYERS = ("occupied", "free", "trail", "goal")
# Each act of the policy lasts this long, which is a whole number of the bridge's ticks.
ACT_S = 0.3
# Shares of the body's greatest velocities: forward and turning left.
ACTIONS: tuple[tuple[float, float], ...] = (
    (1.0, 0.0),
    (1.0, 0.3),
    (1.0, -0.3),
    (1.0, 0.7),
    (1.0, -0.7),
    (0.0, 1.0),
    (0.0, -1.0),
)
# Distance and bearing of the goal, whether the last act was hindered, and the last act.
FEATURES = 5 + len(ACTIONS)
# A point this near to the goal counts as reached.
ARRIVED_M = 0.3
FAR_M = 10.0

# Heights of what hinders a body; what is lower is floor.
_LOW_M, _HIGH_M = 0.08, 1.25
# Farther pixels are too far apart to fill cells.
_SEEN_M = 6.0
# The whole map: a square around where the body began.
_MAP_CELLS = 800
_FREE, _OCCUPIED, _TRAIL = 1, 2, 4

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


def drive_of(action: int, limits: DriveLimits) -> Drive:
    """The velocities of one act."""
    forward, turn = ACTIONS[action]
    return Drive(
        ACT_S, forward_m_s=forward * limits.forward_m_s, turn_rad_s=turn * limits.turn_rad_s
    )


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal as seen from the body: metres, and radians to the left."""

    distance_m: float
    bearing_rad: float

    @staticmethod
    def of(base: Pose, goal_m: tuple[float, float]) -> Goal:
        """A point of the map from a body that stands at `base`."""
        x, y, _ = base.inverse().apply((goal_m[0], goal_m[1], base.position_m[2]))
        return Goal(math.hypot(x, y), math.atan2(y, x))


def features_of(goal: Goal, last: int | None, *, hindered: bool) -> Floats:
    """(FEATURES,) numbers beside the map; `last` is the last act, None at the beginning."""
    features = np.zeros(FEATURES, np.float32)
    features[0] = min(goal.distance_m, FAR_M) / FAR_M
    features[1] = 1.0 / (1.0 + goal.distance_m)
    features[2], features[3] = math.sin(goal.bearing_rad), math.cos(goal.bearing_rad)
    features[4] = hindered
    if last is not None:
        features[5 + last] = 1.0
    return features


class DepthMap:
    """What depth pictures have shown of the floor, and where the body has been.

    A cell is unknown, free or occupied; what once was occupied stays so, as a table does whose
    floor is seen under it.
    """

    def __init__(self, base: Pose) -> None:
        """Begins with nothing known around `base`."""
        x, y, _ = base.position_m
        half = _MAP_CELLS * CELL_M / 2
        self._origin = np.array([x - half, y - half])
        self._cells = np.zeros((_MAP_CELLS, _MAP_CELLS), np.uint8)
        middle = (np.arange(CELLS) + 0.5) * CELL_M
        ahead = CELLS * CELL_M / 2 - middle
        # (CELLS, CELLS) metres ahead and to the left of the body; the first row is ahead.
        self._ahead, self._left = np.meshgrid(ahead, ahead, indexing="ij")

    def add(self, depth_m: DepthImage, intrinsics: Intrinsics, camera: Pose, base: Pose) -> None:
        """Adds a picture; `camera` is the optical frame in `map`."""
        focal = (intrinsics.fx_px, intrinsics.fy_px, intrinsics.cx_px, intrinsics.cy_px)
        rays = _rays(depth_m.shape, focal)
        far = depth_m.ravel()
        points = (rays * far[:, None]) @ camera.rotation().T.astype(np.float32)
        points += np.asarray(camera.position_m, np.float32)
        seen = (far > 0) & (far < _SEEN_M)
        height = points[:, 2]
        rows, columns, inside = self._at(points[:, 0], points[:, 1])
        seen &= inside
        free = seen & (height < _LOW_M)
        self._cells[rows[free], columns[free]] |= _FREE
        occupied = seen & (height >= _LOW_M) & (height < _HIGH_M)
        self._cells[rows[occupied], columns[occupied]] |= _OCCUPIED
        x, y, _ = base.position_m
        row, column, known = self._at(np.array([x]), np.array([y]))
        if known[0]:
            self._cells[row[0], column[0]] |= _TRAIL

    def around(self, base: Pose) -> Bytes:
        """(CELLS, CELLS) codes of the cells around the body: bits of free, occupied and trail."""
        x, y, _ = base.position_m
        c, s = math.cos(base.yaw_rad), math.sin(base.yaw_rad)
        xs = x + c * self._ahead - s * self._left
        ys = y + s * self._ahead + c * self._left
        rows, columns, inside = self._at(xs, ys)
        codes: Bytes = self._cells[rows.clip(0, _MAP_CELLS - 1), columns.clip(0, _MAP_CELLS - 1)]
        codes[~inside] = 0
        return codes

    def _at(
        self, x: NDArray[np.floating], y: NDArray[np.floating]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        columns = np.floor((x - self._origin[0]) / CELL_M).astype(np.int32)
        rows = np.floor((y - self._origin[1]) / CELL_M).astype(np.int32)
        inside = (rows >= 0) & (rows < _MAP_CELLS) & (columns >= 0) & (columns < _MAP_CELLS)
        return rows, columns, inside


def layers_of(codes: Bytes, features: Floats) -> Floats:
    """(n, LAYERS, CELLS, CELLS) what a network reads, of (n, CELLS, CELLS) and (n, FEATURES)."""
    layers = np.empty((len(codes), len(LAYERS), CELLS, CELLS), np.float32)
    occupied = (codes & _OCCUPIED) > 0
    layers[:, 0] = occupied
    layers[:, 1] = ((codes & _FREE) > 0) & ~occupied
    layers[:, 2] = (codes & _TRAIL) > 0
    layers[:, 3] = 0.0
    # The goal, or the edge of the map in its direction, as a square of three cells.
    distance_m = features[:, 0] * FAR_M
    ahead, left = distance_m * features[:, 3], distance_m * features[:, 2]
    half = CELLS * CELL_M / 2 - 1.5 * CELL_M
    shrink = np.minimum(1.0, half / np.maximum(np.maximum(abs(ahead), abs(left)), 1e-6))
    rows = np.floor((CELLS * CELL_M / 2 - ahead * shrink) / CELL_M).astype(np.int32)
    columns = np.floor((CELLS * CELL_M / 2 - left * shrink) / CELL_M).astype(np.int32)
    number = np.arange(len(codes))
    for dr in (-1, 0, 1):
        for dc in (-1, 0, 1):
            row, column = (rows + dr).clip(0, CELLS - 1), (columns + dc).clip(0, CELLS - 1)
            layers[number, 3, row, column] = 1.0
    return layers


_known_rays: dict[tuple[object, ...], Floats] = {}


def _rays(shape: tuple[int, ...], focal: tuple[float, float, float, float]) -> Floats:
    """(h * w, 3) directions of all pixels with 1 along the optical axis."""
    key = (shape, focal)
    rays = _known_rays.get(key)
    if rays is None:
        fx, fy, cx, cy = focal
        columns, rows = np.meshgrid(np.arange(shape[1]), np.arange(shape[0]))
        stacked = np.stack([(columns - cx) / fx, (rows - cy) / fy, np.ones(columns.shape)], axis=-1)
        if len(_known_rays) > 8:
            _known_rays.clear()
        rays = _known_rays[key] = stacked.reshape(-1, 3).astype(np.float32)
    return rays
