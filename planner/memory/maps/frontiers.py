"""Moving by the map: where unexplored floor begins, simulated steps, and failed ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.floor_grid import BoolGrid, DistanceField, FloorGrid, connected_parts
from planner.world.floor_map import UNKNOWN, FloorMap, disc
from planner.world.geometry import Vec3, wrap_angle_rad
from planner.world.observation import RgbImage


@dataclass(frozen=True, slots=True)
class FrontierOptions:
    """Ours; the paper states no threshold (HELPER-D61).

    Attributes:
        enough_cells: fewer unexplored cells than this, in all, end exploring.
        cluster_cells: a cluster of fewer is not worth a way.
        size_weight_m: metres of way that a cluster of a hundred cells is worth.
        give_up_m: around a place that showed nothing new.
    """

    enough_cells: int = 40
    cluster_cells: int = 6
    size_weight_m: float = 0.5
    give_up_m: float = 0.35


@dataclass(frozen=True, slots=True)
class Frontier:
    """Unexplored floor next to explored floor that can be walked to.

    Attributes:
        stand_m: the explored place nearest to it, to go to.
        middle_m: an unexplored place in it, to look at.
        cells: how many unexplored cells border on explored floor here.
        way_m: the walk there.
    """

    stand_m: Vec3
    middle_m: Vec3
    cells: int
    way_m: float


@dataclass(frozen=True, slots=True)
class Unexplored:
    """What is left to explore.

    Attributes:
        cells: unexplored cells where a body could stand.
        frontiers: where to go for them, the best first.
    """

    cells: int
    frontiers: tuple[Frontier, ...]


@dataclass
class FrontierSearch:
    """The search of one body in one house; remembers which places showed nothing new."""

    radius_m: float
    options: FrontierOptions = field(default_factory=FrontierOptions)
    given_up_m: list[Vec3] = field(default_factory=list)

    def give_up(self, frontier: Frontier) -> None:
        """Notes that going there showed nothing new."""
        self.given_up_m.append(frontier.middle_m)

    def of(self, floor: FloorMap, base_m: Vec3) -> Unexplored:
        """What is left, seen from where the body is."""
        walkable = floor.walkable(self.radius_m)
        here = walkable.nearest_free(base_m[0], base_m[1], within_m=2 * self.radius_m)
        if here is None:
            return Unexplored(0, ())
        open_cells = self._joined(floor, here)
        left = open_cells & (floor.cells == UNKNOWN)
        for point_m in self.given_up_m:
            _clear(left, floor, point_m, self.options.give_up_m)
        count = int(left.sum())
        if count < self.options.enough_cells:
            return Unexplored(count, ())
        found = self._frontiers(walkable, here, left)
        return Unexplored(count, tuple(sorted(found, key=self._cost_m)))

    def _cost_m(self, frontier: Frontier) -> float:
        return frontier.way_m - self.options.size_weight_m * min(frontier.cells, 200) / 100

    def _joined(self, floor: FloorMap, here: int) -> BoolGrid:
        """Where the body could be, taking what is unexplored for free."""
        parts = connected_parts(floor.clear(self.radius_m))
        joined: BoolGrid = parts == parts.flat[here]
        return joined

    def _frontiers(self, walkable: FloorGrid, here: int, left: BoolGrid) -> list[Frontier]:
        reached = walkable.components == walkable.components.flat[here]
        beside = cv2.dilate(reached.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        edge = (left & beside).astype(np.uint8)
        _, labels = cv2.connectedComponents(edge, connectivity=8)
        way_m = walkable.field(here).distance_m
        found = []
        for cells in _by_label(np.asarray(labels, np.int32)):
            if len(cells) < self.options.cluster_cells:
                continue
            stand, middle = _nearest_stand(walkable, reached, cells)
            x, y = walkable.point(stand)
            mx, my = walkable.point(middle)
            found.append(Frontier((x, y, 0.0), (mx, my, 0.0), len(cells), float(way_m[stand])))
        return found


def _by_label(labels: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """The cells of each cluster, by its label from 1."""
    flat = labels.ravel()
    cells = np.flatnonzero(flat)
    if not len(cells):
        return []
    order = np.argsort(flat[cells], kind="stable")
    ends = np.flatnonzero(np.diff(flat[cells][order])) + 1
    return np.split(cells[order], ends)


def _nearest_stand(
    walkable: FloorGrid, reached: BoolGrid, cells: NDArray[np.int64]
) -> tuple[int, int]:
    """The reachable explored cell nearest to a cluster's middle, and the cell there."""
    rows, columns = np.divmod(cells, walkable.columns)
    away = np.hypot(rows - rows.mean(), columns - columns.mean())
    middle = int(cells[int(np.argmin(away))])
    row, column = divmod(middle, walkable.columns)
    near = np.flatnonzero(reached)
    near_rows, near_columns = np.divmod(near, walkable.columns)
    stand = near[int(np.argmin(np.hypot(near_rows - row, near_columns - column)))]
    return int(stand), middle


def _clear(left: BoolGrid, floor: FloorMap, point_m: Vec3, radius_m: float) -> None:
    """Takes the cells around a point out."""
    row = int((point_m[1] - floor.origin_m[1]) / floor.cell_m)
    column = int((point_m[0] - floor.origin_m[0]) / floor.cell_m)
    offsets = disc(radius_m / floor.cell_m) + np.array([row, column])
    inside = (offsets >= 0).all(axis=1) & (offsets < np.array(left.shape)).all(axis=1)
    rows, columns = offsets[inside].T
    left[rows, columns] = False


# Walking by simulated action sequences (HELPER-2.8.7).
#
# All cells' walking distances to the goal are known from a search over the map. Of several
# sequences of actions, each simulated on the map, the one that comes nearest to the goal is taken.

YAW_STEP_RAD = math.pi / 2
PITCH_STEP_RAD = math.pi / 6
FORWARD_M = 0.25
# How far a body that stands too close to something may go to where it may be.
LEAVE_M = 0.4
# A sequence that comes no nearer than this does not help.
# Ways straight on: their headings, and between the places where they are checked.
_HEADINGS, _EVERY_M = 32, 0.05
_LEAST_M = 1e-6


class Action(StrEnum):
    """The published simulator's moves (HELPER-1.3)."""

    FORWARD = "Forward"
    BACKWARD = "Backward"
    TURN_LEFT = "Turn Left"
    TURN_RIGHT = "Turn Right"
    LOOK_UP = "Look Up"
    LOOK_DOWN = "Look Down"
    STRAFE_LEFT = "Strafe Left"
    STRAFE_RIGHT = "Strafe Right"


_SIDES_RAD = {
    Action.FORWARD: 0.0,
    Action.BACKWARD: math.pi,
    Action.STRAFE_LEFT: math.pi / 2,
    Action.STRAFE_RIGHT: -math.pi / 2,
}
_TURNS_RAD = {Action.TURN_LEFT: YAW_STEP_RAD, Action.TURN_RIGHT: -YAW_STEP_RAD}
_TILTS_RAD = {Action.LOOK_UP: -PITCH_STEP_RAD, Action.LOOK_DOWN: PITCH_STEP_RAD}


@dataclass(frozen=True, slots=True)
class Stance:
    """Where a body is and looks: metres in `map`, heading, and the camera's tilt, down positive."""

    x_m: float
    y_m: float
    yaw_rad: float
    pitch_rad: float = 0.0

    def after(self, action: Action) -> Stance:
        """The stance after an action that nothing prevents."""
        if action in _SIDES_RAD:
            towards_rad = self.yaw_rad + _SIDES_RAD[action]
            return self.ahead(towards_rad, FORWARD_M)
        if action in _TURNS_RAD:
            return replace(self, yaw_rad=wrap_angle_rad(self.yaw_rad + _TURNS_RAD[action]))
        return replace(self, pitch_rad=self.pitch_rad + _TILTS_RAD[action])

    def ahead(self, towards_rad: float, length_m: float) -> Stance:
        """The stance moved in a direction of the map, with the same heading."""
        x_m = self.x_m + length_m * math.cos(towards_rad)
        return replace(self, x_m=x_m, y_m=self.y_m + length_m * math.sin(towards_rad))


Way = tuple[Stance, ...]


def ways_of(start: Stance, sequences: Iterable[Sequence[Action]]) -> list[Way]:
    """The stances of each sequence of actions, one after another, without the start."""
    ways = []
    for sequence in sequences:
        stance, way = start, []
        for action in sequence:
            stance = stance.after(action)
            way.append(stance)
        ways.append(tuple(way))
    return ways


def all_sequences(length: int) -> list[tuple[Action, ...]]:
    """All sequences of turns and steps ahead of a length."""
    moves = (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT)
    return list(product(moves, repeat=length))


def straight_ways(start: Stance, lengths_m: Sequence[float]) -> Iterator[Way]:
    """Turning and going straight, the shortest first, for a body that can turn to any heading."""
    for number in range(_HEADINGS):
        heading_rad = wrap_angle_rad(number * math.tau / _HEADINGS)
        cos, sin = math.cos(heading_rad), math.sin(heading_rad)
        for length_m in lengths_m:
            steps = max(1, math.ceil(length_m / _EVERY_M))
            yield tuple(
                Stance(start.x_m + d * cos, start.y_m + d * sin, heading_rad, start.pitch_rad)
                for d in (length_m * step / steps for step in range(1, steps + 1))
            )


def best_way(floor: FloorGrid, to_goal: DistanceField, start: Stance, ways: Iterable[Way]) -> Way:
    """The way with the largest decrease of the walking distance; of equal ones the first.

    Ways over floor that is not free are left out, except at the start of one that begins there: a
    body may stand closer to something than it would go. Empty if none comes nearer.
    """
    best: Way = ()
    least_m = _distance_m(floor, to_goal, start) - _LEAST_M
    for way in ways:
        if not way or not _is_passable(floor, start, way):
            continue
        distance_m = _distance_m(floor, to_goal, way[-1])
        if distance_m < least_m - _LEAST_M:
            best, least_m = way, distance_m
    return best


def _is_passable(floor: FloorGrid, start: Stance, way: Way) -> bool:
    leaving = not floor.is_free(start.x_m, start.y_m)
    for stance in way:
        if floor.is_free(stance.x_m, stance.y_m):
            leaving = False
        elif not leaving or math.dist((start.x_m, start.y_m), (stance.x_m, stance.y_m)) > LEAVE_M:
            return False
    return not leaving


def _distance_m(floor: FloorGrid, to_goal: DistanceField, stance: Stance) -> float:
    """The walk from a stance's cell; inf where there is no way."""
    cell = floor.cell(stance.x_m, stance.y_m)
    return math.inf if cell is None else to_goal.at(cell)


# Whether an action failed, by comparing pictures (HELPER-2.8.5).
#
# A shortcut for simulators: a picture that an action did not change. A robot's picture always
# changes a little; there the skill's own result tells.


def has_changed(before: RgbImage, after: RgbImage, least_pixels: int = 1) -> bool:
    """Whether at least so many pixels differ between two pictures, (h, w, 3) uint8.

    Raises:
        PlannerError: for pictures of different sizes.
    """
    if before.shape != after.shape:
        raise PlannerError(f"pictures of {before.shape} and {after.shape} cannot be compared")
    return int((before != after).any(axis=2).sum()) >= least_pixels
