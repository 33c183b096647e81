"""Where to go next to see unexplored floor (HELPER-2.8.6).

Unexplored floor counts where a body could stand: as far as is known there is nothing in its way,
and it is joined to where the body is by such floor or by explored one. Behind walls and furniture
it is not joined, so that exploring ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.world.floor_grid import BoolGrid, FloorGrid, connected_parts
from planner.world.floor_map import UNKNOWN, FloorMap, disc
from planner.world.geometry import Vec3


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
