"""What a navigation policy observes and does: the same in training and on a body."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.skills.policy.navigation_way import OptimisticWay, Points, doubted_way
from planner.skills.policy.policy_file import CELLS, Acts, Bytes, Floats, PolicySpace
from planner.world.geometry import Pose, Vec3
from planner.world.observation import DepthImage, Intrinsics
from planner.world.primitive import Drive, DriveLimits

# The depth picture, square, of the hand's camera.
CAMERA = "hand"
PICTURE_PX = 64
# The map around the body: the size of its cells, and what each layer marks.
CELL_M = 0.1
LAYERS = ("occupied", "free", "trail", "goal", "way")
# Each act of the policy lasts this long, which is a whole number of the bridge's ticks.
ACT_S = 0.3
# Shares of the body's greatest velocities: forward and turning left.
ACTIONS: tuple[tuple[float, float], ...] = (
    (1.0, 0.0), (1.0, 0.3), (1.0, -0.3), (1.0, 0.7), (1.0, -0.7), (0.0, 1.0), (0.0, -1.0),
)  # fmt: skip
# Distance and bearing of the goal, whether the last act was hindered, and the last act.
FEATURES = 5 + len(ACTIONS)
# A point this near to the goal counts as reached.
ARRIVED_M = 0.3
FAR_M = 10.0

# Heights of what hinders a body; what is lower is floor.
_LOW_M, _HIGH_M = 0.08, 1.25
# Farther pixels are too far apart to fill cells.
_SEEN_M = 6.0
# What a hand holds is nearer to it than this.
_HELD_M = 0.3
# No point of a person is farther than this from the middle.
_PERSON_M = 0.45
# A body that was nowhere else for so many acts is stuck. Acts are drawn at this temperature then.
_STUCK_ACTS, _STUCK_M, _STUCK_TEMPERATURE = 10, 0.1, 2.0
# Width of what is forgotten along a way that should be free, and seen again.
_FORGOTTEN_CELLS = 7
# The whole map: a square around where the body began.
_MAP_CELLS = 800
_FREE, _OCCUPIED, _TRAIL, _WAY = 1, 2, 4, 8
# Something that a drive was stopped by, which no network reads.
_TOUCHED = 16
# Where it is: so far ahead of the middle of the body, and so far to both sides.
_TOUCHED_M, _TOUCHED_SIDE_M = (0.3, 0.35, 0.4), (-0.1, 0.0, 0.1)

# The act of each mirrored one: left and right are exchanged.
_MIRRORED = np.array([ACTIONS.index((forward, -turn)) for forward, turn in ACTIONS])


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
    floor is seen under it. Where no way is left, what is on the most likely one is forgotten, or
    else everything, and seen again.
    """

    def __init__(self, base: Pose) -> None:
        x, y, _ = base.position_m
        half = _MAP_CELLS * CELL_M / 2
        self._origin = np.array([x - half, y - half])
        self._cells = np.zeros((_MAP_CELLS, _MAP_CELLS), np.uint8)
        self._passable = np.zeros((_MAP_CELLS, _MAP_CELLS), bool)
        self._way = OptimisticWay()
        # (n, 2) metres in `map`: the way that was drawn last.
        self.way_m = np.zeros((0, 2))
        middle = (np.arange(CELLS) + 0.5) * CELL_M
        ahead = CELLS * CELL_M / 2 - middle
        # (CELLS, CELLS) metres ahead and to the left of the body; the first row is ahead.
        self._ahead, self._left = np.meshgrid(ahead, ahead, indexing="ij")

    def add(
        self,
        depth_m: DepthImage,
        intrinsics: Intrinsics,
        camera: Pose,
        base: Pose,
        *,
        held_m: Vec3 | None = None,
        persons_m: Sequence[Vec3] = (),
    ) -> None:
        """Adds a picture.

        Args:
            depth_m: (height, width) metres; 0 = nothing.
            intrinsics: of the picture.
            camera: the optical frame in `map`.
            base: the body in `map`.
            held_m: where the hand holds something in `map`, which the picture shows, too.
            persons_m: where others stand in `map`, who will not stay there, or make way.
        """
        focal = (intrinsics.fx_px, intrinsics.fy_px, intrinsics.cx_px, intrinsics.cy_px)
        rays = _rays(depth_m.shape, focal)
        far = depth_m.ravel()
        points = (rays * far[:, None]) @ camera.rotation().T.astype(np.float32)
        points += np.asarray(camera.position_m, np.float32)
        seen = (far > 0) & (far < _SEEN_M)
        if held_m is not None:
            seen &= np.linalg.norm(points - np.asarray(held_m, np.float32), axis=1) > _HELD_M
        for x, y, _ in persons_m:
            seen &= np.hypot(points[:, 0] - x, points[:, 1] - y) > _PERSON_M
        height = points[:, 2]
        rows, columns, inside = self._at(points[:, 0], points[:, 1])
        seen &= inside
        free = seen & (height < _LOW_M)
        self._cells[rows[free], columns[free]] |= _FREE
        occupied = seen & (height >= _LOW_M) & (height < _HIGH_M)
        occupied[occupied] = ~self._passable[rows[occupied], columns[occupied]]
        self._cells[rows[occupied], columns[occupied]] |= _OCCUPIED
        x, y, _ = base.position_m
        row, column, known = self._at(np.array([x]), np.array([y]))
        if known[0]:
            self._cells[row[0], column[0]] |= _TRAIL

    def pass_over(self, shapes_m: Iterable[Points], solid_m: Points) -> None:
        """Lets pictures mark nothing where some convex shapes are, and a cell around them.

        Args:
            shapes_m: (n, 2) points of each, in `map`.
            solid_m: (n, 2) corners in order of a convex shape where they mark all the same.
        """
        drawn = np.zeros(self._passable.shape, np.uint8)
        for shape_m in shapes_m:
            cv2.fillConvexPoly(drawn, cv2.convexHull(self._pixels(shape_m)), 1)
        grown = cv2.dilate(drawn, np.ones((3, 3), np.uint8))
        cv2.fillConvexPoly(grown, self._pixels(solid_m), 0)
        self._passable |= grown > 0

    def _pixels(self, points_m: Points) -> NDArray[np.int32]:
        """(n, 2) column and row of points in `map`."""
        pixels: NDArray[np.int32] = np.floor((points_m - self._origin) / CELL_M).astype(np.int32)
        return pixels

    def touch(self, base: Pose) -> None:
        """Marks what stopped a body that drove straight on: too near to be in a picture."""
        x, y, _ = base.position_m
        c, s = math.cos(base.yaw_rad), math.sin(base.yaw_rad)
        ahead, left = np.meshgrid(_TOUCHED_M, _TOUCHED_SIDE_M)
        rows, columns, inside = self._at(x + c * ahead - s * left, y + s * ahead + c * left)
        self._cells[rows[inside], columns[inside]] |= _TOUCHED | _OCCUPIED

    def around(self, base: Pose, goal_m: tuple[float, float]) -> Bytes:
        """(CELLS, CELLS) codes of the cells around the body: bits of free, occupied, trail, way."""
        x, y, _ = base.position_m
        c, s = math.cos(base.yaw_rad), math.sin(base.yaw_rad)
        xs = x + c * self._ahead - s * self._left
        ys = y + s * self._ahead + c * self._left
        rows, columns, inside = self._at(xs, ys)
        codes: Bytes = self._cells[rows.clip(0, _MAP_CELLS - 1), columns.clip(0, _MAP_CELLS - 1)]
        codes[~inside] = 0
        codes &= ~np.uint8(_TOUCHED)
        self._draw_way(codes, base, goal_m)
        return codes

    def _draw_way(self, codes: Bytes, base: Pose, goal_m: tuple[float, float]) -> None:
        """Marks the way that would be free if all unseen floor were."""
        x, y, _ = base.position_m
        here = (x - self._origin[0], y - self._origin[1])
        there = (goal_m[0] - self._origin[0], goal_m[1] - self._origin[1])
        points = self._way.points(self._cells, _OCCUPIED, CELL_M, here, there, _TOUCHED)
        if not len(points):
            points = doubted_way(self._cells, _OCCUPIED, CELL_M, here, there, _TOUCHED)
            self._forget(points)
        self.way_m = points + self._origin
        if not len(points):
            return
        dx, dy = (self.way_m - (x, y)).T
        c, s = math.cos(base.yaw_rad), math.sin(base.yaw_rad)
        ahead, left = c * dx + s * dy, c * dy - s * dx
        half = CELLS * CELL_M / 2
        # OpenCV's first coordinate is the column.
        line = np.stack([half - left, half - ahead], axis=1) / CELL_M
        drawn = np.zeros((CELLS, CELLS), np.uint8)
        cv2.polylines(drawn, [np.floor(line).astype(np.int32)], False, 1)
        codes[drawn > 0] |= _WAY

    def _forget(self, points: NDArray[np.float64]) -> None:
        """Forgets what is around a doubted way, or all; if it still is there it is seen again."""
        touched = self._cells & _TOUCHED
        if not len(points):
            self._cells &= _TRAIL
            self._cells[touched > 0] |= _TOUCHED | _OCCUPIED
            return
        near = np.floor(points / CELL_M).astype(np.int32)
        drawn = np.zeros(self._cells.shape, np.uint8)
        cv2.polylines(drawn, [near], False, 1, thickness=_FORGOTTEN_CELLS)
        self._cells[drawn > 0] &= _TRAIL
        self._cells[touched > 0] |= _TOUCHED | _OCCUPIED

    def _at(
        self, x: NDArray[np.floating], y: NDArray[np.floating]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        columns = np.floor((x - self._origin[0]) / CELL_M).astype(np.int32)
        rows = np.floor((y - self._origin[1]) / CELL_M).astype(np.int32)
        inside = (rows >= 0) & (rows < _MAP_CELLS) & (columns >= 0) & (columns < _MAP_CELLS)
        return rows, columns, inside


class ActChoice:
    """Which act of a policy is done: the best one, or one by chance where a body is stuck.

    A policy that always does what it rates best turns to and fro for ever where it is stuck. Chance
    is that of the policy's own scores, and the same in each walk.
    """

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._places: deque[tuple[float, float]] = deque(maxlen=_STUCK_ACTS)

    def of(self, scores: Floats, base: Pose) -> int:
        """The act for (actions,) scores, of a body that is at `base` now."""
        x, y, _ = base.position_m
        self._places.append((x, y))
        if len(self._places) < _STUCK_ACTS or any(
            math.dist(place, (x, y)) > _STUCK_M for place in self._places
        ):
            return int(np.argmax(scores))
        chances = np.exp((scores - scores.max()).astype(np.float64) / _STUCK_TEMPERATURE)
        return int(self._rng.choice(len(scores), p=chances / chances.sum()))


def layers_of(codes: Bytes, features: Floats) -> Floats:
    """(n, LAYERS, CELLS, CELLS) what a network reads, of (n, CELLS, CELLS) and (n, FEATURES)."""
    layers = np.empty((len(codes), len(LAYERS), CELLS, CELLS), np.float32)
    occupied = (codes & _OCCUPIED) > 0
    layers[:, 0] = occupied
    layers[:, 1] = ((codes & _FREE) > 0) & ~occupied
    layers[:, 2] = (codes & _TRAIL) > 0
    layers[:, 3] = 0.0
    layers[:, 4] = (codes & _WAY) > 0
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


def _mirrored(maps: Bytes, features: Floats, acts: Acts) -> tuple[Bytes, Floats, Acts]:
    features = features.copy()
    features[:, 2] *= -1.0
    features[:, 5:] = features[:, 5:][:, _MIRRORED]
    return np.ascontiguousarray(maps[:, :, ::-1]), features, _MIRRORED[acts]


NAVIGATION = PolicySpace(
    skill="navigate",
    version="2",
    described={
        "camera": CAMERA,
        "picture_px": PICTURE_PX,
        "cells": CELLS,
        "cell_m": CELL_M,
        "layers": list(LAYERS),
        "features": FEATURES,
        "actions": [list(action) for action in ACTIONS],
        "act_s": ACT_S,
    },
    max_code=_FREE | _OCCUPIED | _TRAIL | _WAY,
    layers=len(LAYERS),
    features=FEATURES,
    actions=len(ACTIONS),
    layers_of=layers_of,
    mirrored=_mirrored,
)

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
