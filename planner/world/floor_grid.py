"""Ways over a house's floor: a grid of where bodies may be, and paths from door to door."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import FloatArray
from planner.world.house import Door, Furniture, House

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


CELL_M = 0.1
# A large house's field takes 50 kB; an episode has about thirty destinations.
MAX_CACHED_FIELDS = 64
WALL_THICKNESS_M = 0.1
# Rasterised at a finer pitch than the cells, so that a 0.9 m door keeps its width.
_OVERSAMPLING = 4
# Row and column offsets of neighbours in index order, and the two cells beside each diagonal.
_NEIGHBOURS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
_DIAGONAL_SIDES = {0: (1, 3), 2: (1, 4), 5: (3, 6), 7: (4, 6)}

# Radius of a first, cheap search around a point.
_NEAR_M = 1.0

BoolGrid = NDArray[np.bool_]
IntGrid = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Floor:
    """The free cells, numbered from 0 in their order, and the steps between them.

    `cells[i]` is the cell with number i; `numbers[c]` the number of cell c, -1 if it is not free.
    """

    cells: NDArray[np.int64]
    numbers: NDArray[np.int32]
    graph: csr_matrix


@dataclass(frozen=True, slots=True)
class DistanceField:
    """Walking distance from every cell to one goal cell.

    Stored for free cells only, since most of a house's bounds is walls, furniture and outdoors.
    """

    goal: int
    _floor: _Floor
    _distance_m: FloatArray
    _towards: array[int]

    @property
    def distance_m(self) -> FloatArray:
        """(cells,) metres to the goal, inf if there is no way; recomputed on each access."""
        distance_m = np.full(len(self._floor.numbers), np.inf)
        distance_m[self._floor.cells] = self._distance_m
        distance_m[self.goal] = 0.0
        return distance_m

    def at(self, cell: int) -> float:
        """Metres from one cell to the goal; inf where there is no way."""
        if cell == self.goal:
            return 0.0
        number = self._floor.numbers[cell]
        return float(self._distance_m[number]) if number >= 0 else math.inf

    def path(self, start: int) -> list[int]:
        """The cells from `start` to the goal, both included; empty where there is no way."""
        if start == self.goal:
            return [start]
        if not math.isfinite(self.at(start)):
            return []
        towards = self._towards
        numbers = [here := int(self._floor.numbers[start])]
        while (here := towards[here]) >= 0:
            numbers.append(here)
        path: list[int] = self._floor.cells[numbers].tolist()
        return path


class FloorGrid:
    """The free floor of one house for one radius of agent, with cached distance fields."""

    def __init__(self, free: BoolGrid, origin_m: tuple[float, float], cell_m: float) -> None:
        """`free` is (rows, columns); `origin_m` is the map position of the lower left corner."""
        self.free = free
        self.origin_m = origin_m
        self.cell_m = cell_m
        self.rows: int = free.shape[0]
        self.columns: int = free.shape[1]
        self._fields: dict[int, DistanceField] = {}

    @staticmethod
    def of(house: House, radius_m: float, cell_m: float = CELL_M) -> FloorGrid:
        """The grid of a house's rooms without its walls and furniture, shrunk by the radius."""
        import cv2  # As heavy as a page's server, which only asks for corners.

        x0, y0, x1, y1 = house.bounds_m
        columns = math.ceil((x1 - x0) / cell_m)
        rows = math.ceil((y1 - y0) / cell_m)
        fine_m = cell_m / _OVERSAMPLING
        open_floor = _rasterise(house, (x0, y0), (rows, columns), fine_m)
        # OpenCV's transform is also exact, and ten times as fast as SciPy's.
        padded = np.pad(open_floor, 1)
        cells = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        clearance = cells[1:-1, 1:-1] * fine_m
        middle = _OVERSAMPLING // 2
        at_middle = clearance[middle::_OVERSAMPLING, middle::_OVERSAMPLING]
        return FloorGrid(at_middle >= radius_m, (x0, y0), cell_m)

    def cell(self, x_m: float, y_m: float) -> int | None:
        """The index of the cell containing the point, or None outside the grid."""
        column = (x_m - self.origin_m[0]) / self.cell_m
        row = (y_m - self.origin_m[1]) / self.cell_m
        # Compared before conversion to int, which fails for infinity.
        if 0 <= row < self.rows and 0 <= column < self.columns:
            return math.floor(row) * self.columns + math.floor(column)
        return None

    def point(self, cell: int) -> tuple[float, float]:
        """The middle of a cell in the map frame, metres."""
        row, column = divmod(cell, self.columns)
        return (
            self.origin_m[0] + (column + 0.5) * self.cell_m,
            self.origin_m[1] + (row + 0.5) * self.cell_m,
        )

    def is_free(self, x_m: float, y_m: float) -> bool:
        """Whether an agent's centre may be at the point."""
        cell = self.cell(x_m, y_m)
        return cell is not None and bool(self.free.flat[cell])

    @cached_property
    def components(self) -> IntGrid:
        """(rows, columns) labels of connected free floor from 1; 0 if not free."""
        return connected_parts(self.free)

    def component(self, x_m: float, y_m: float) -> int:
        """The label of the connected floor at the point, 0 if it is not free."""
        cell = self.cell(x_m, y_m)
        return 0 if cell is None else int(self.components.flat[cell])

    @cached_property
    def _free_cells(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.free)

    @cached_property
    def free_points_m(self) -> FloatArray:
        """(n, 2) middles of all free cells in the map frame."""
        rows, columns = np.divmod(self._free_cells, self.columns)
        return np.stack(
            [
                self.origin_m[0] + (columns + 0.5) * self.cell_m,
                self.origin_m[1] + (rows + 0.5) * self.cell_m,
            ],
            axis=1,
        )

    def nearest_free(self, x_m: float, y_m: float, within_m: float = math.inf) -> int | None:
        """The free cell whose middle is nearest to the point, or None within that distance."""
        for reach_m in (min(_NEAR_M, within_m), within_m):
            cells, gaps_m = self._around(x_m, y_m, reach_m)
            if len(cells):
                best = int(np.argmin(gaps_m))
                if gaps_m[best] <= reach_m:
                    return int(cells[best])
        return None

    def free_within(self, x_m: float, y_m: float, radius_m: float) -> NDArray[np.int64]:
        """All free cells whose middle is within a horizontal distance of the point."""
        cells, gaps_m = self._around(x_m, y_m, radius_m)
        return cells[gaps_m <= radius_m]

    def _around(
        self, x_m: float, y_m: float, reach_m: float
    ) -> tuple[NDArray[np.int64], FloatArray]:
        """The free cells in a square around the point, and the distances of their middles."""
        top, left, free = self._square(x_m, y_m, reach_m)
        rows, columns = np.nonzero(free)
        rows, columns = rows + top, columns + left
        gaps_m = np.hypot(
            self.origin_m[0] + (columns + 0.5) * self.cell_m - x_m,
            self.origin_m[1] + (rows + 0.5) * self.cell_m - y_m,
        )
        return rows * self.columns + columns, gaps_m

    def _square(self, x_m: float, y_m: float, reach_m: float) -> tuple[int, int, BoolGrid]:
        """First row, first column, and the part of the grid within a distance of a point."""
        if not math.isfinite(reach_m):
            return 0, 0, self.free
        reach = reach_m / self.cell_m + 1
        row, column = (y_m - self.origin_m[1]) / self.cell_m, (x_m - self.origin_m[0]) / self.cell_m
        top, bottom = _span(row - reach, row + reach, self.rows)
        left, right = _span(column - reach, column + reach, self.columns)
        return top, left, self.free[top:bottom, left:right]

    @cached_property
    def _floor(self) -> _Floor:
        return _floor_of(self.free, self.cell_m)

    def field(self, goal: int) -> DistanceField:
        """The distance field of a goal cell; the most recently used ones are cached."""
        field = self._fields.pop(goal, None)
        if field is None:
            field = _field(self._floor, goal)
            if len(self._fields) >= MAX_CACHED_FIELDS:
                del self._fields[next(iter(self._fields))]
        self._fields[goal] = field
        return field


def _span(low: float, high: float, count: int) -> tuple[int, int]:
    """The range of indices below `count` that an interval covers; it may be far outside."""
    first, last = min(max(low, 0.0), count), min(max(high, 0.0), count)
    return math.floor(first), math.ceil(last)


def _rasterise(
    house: House, origin_m: tuple[float, float], shape: tuple[int, int], fine_m: float
) -> NDArray[np.uint8]:
    """(rows, columns) at the fine pitch: 1 if neither wall nor furniture is."""
    import cv2

    rows, columns = shape
    canvas = np.zeros((rows * _OVERSAMPLING, columns * _OVERSAMPLING), np.uint8)
    if house.graph is not None:
        # In a world of edges there are no obstacles.
        canvas[:] = 1
        return canvas

    def pixels(points: list[tuple[float, float]]) -> NDArray[np.int32]:
        scaled = [
            ((x - origin_m[0]) / fine_m - 0.5, (y - origin_m[1]) / fine_m - 0.5) for x, y in points
        ]
        return np.asarray(np.rint(np.array(scaled)), dtype=np.int32)

    for room in house.rooms:
        cv2.fillPoly(canvas, [pixels(list(room.polygon_m))], 1)
    thickness = max(1, round(WALL_THICKNESS_M / fine_m))
    for room in house.rooms:
        cv2.polylines(canvas, [pixels(list(room.polygon_m))], True, 0, thickness)
    for door in house.doors:
        if len(door.rooms) == 2:
            cv2.fillPoly(canvas, [pixels(door_corners(door))], 1)
    for piece in house.furniture:
        cv2.fillPoly(canvas, [pixels(footprint(piece))], 0)
    return canvas


def door_corners(door: Door, depth_m: float = WALL_THICKNESS_M * 2) -> list[tuple[float, float]]:
    """The floor rectangle of an opening, `depth_m` across the wall, in the map frame."""
    c, s = math.cos(door.yaw_rad), math.sin(door.yaw_rad)
    return _corners(door.center_m, door.width_m / 2, depth_m / 2, c, s)


def footprint(piece: Furniture) -> list[tuple[float, float]]:
    """The four floor corners of a piece of furniture in the map frame."""
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    return _corners((piece.x_m, piece.y_m), piece.size_m[0] / 2, piece.size_m[1] / 2, c, s)


def _corners(
    center_m: tuple[float, float], half_x: float, half_y: float, c: float, s: float
) -> list[tuple[float, float]]:
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return [
        (
            center_m[0] + sx * half_x * c - sy * half_y * s,
            center_m[1] + sx * half_x * s + sy * half_y * c,
        )
        for sx, sy in signs
    ]


def preload_path_search() -> None:
    """Imports the path search in advance, which takes half a second.

    Modules that do not need it, such as the evaluator's, start without it.
    """
    import scipy.sparse.csgraph  # noqa: F401


def connected_parts(free: BoolGrid) -> IntGrid:
    """(rows, columns) labels of connected free floor, from 1 in order; 0: not free.

    Four-connected, since a diagonal step needs both cells that it passes between.
    """
    import cv2

    # OpenCV's algorithm that numbers parts in the order of their first cells.
    _, labels = cv2.connectedComponentsWithAlgorithm(
        free.astype(np.uint8), 4, cv2.CV_32S, cv2.CCL_WU
    )
    return np.asarray(labels, dtype=np.int32)


def _floor_of(free: BoolGrid, cell_m: float) -> _Floor:
    """Eight-connected free cells; a diagonal needs both cells that it passes between."""
    from scipy.sparse import csr_matrix

    rows, columns = free.shape
    cells = np.flatnonzero(free)
    # A border of cells that are not free, so that all neighbours exist.
    index = np.full((rows + 2, columns + 2), -1, np.int32)
    inner = index[1:-1, 1:-1]
    inner[free] = np.arange(len(cells))
    at = (cells // columns + 1) * (columns + 2) + cells % columns + 1
    steps = np.array([dr * (columns + 2) + dc for dr, dc in _NEIGHBOURS])
    # (cells, 8) in the order of the cells' numbers, as the CSR matrix needs it.
    there = index.ravel()[at[:, None] + steps]
    is_open = there >= 0
    for diagonal, sides in _DIAGONAL_SIDES.items():
        is_open[:, diagonal] &= is_open[:, sides[0]] & is_open[:, sides[1]]
    lengths_m = [cell_m * math.hypot(dr, dc) for dr, dc in _NEIGHBOURS]
    weights = np.broadcast_to(lengths_m, there.shape)
    begins = np.concatenate([[0], np.cumsum(is_open.sum(axis=1))])
    data = (weights[is_open], there[is_open], begins)
    graph = csr_matrix(data, shape=(len(cells), len(cells)))
    return _Floor(cells, inner.ravel(), graph)


def _field(floor: _Floor, goal: int) -> DistanceField:
    from scipy.sparse.csgraph import dijkstra

    number = int(floor.numbers[goal])
    if number < 0:
        nowhere = np.full(len(floor.cells), np.inf)
        return DistanceField(goal, floor, nowhere, array("i"))
    distance, towards = dijkstra(
        floor.graph, directed=True, indices=number, return_predecessors=True
    )
    # A standard-library array: single reads are as fast as a list's, at a ninth of its size.
    return DistanceField(goal, floor, distance, array("i", towards.astype(np.intc).tobytes()))


# Paths through the rooms of a house, from door to door, ignoring obstacles.
#
# The graph world walks by them, and who compares plans before they are carried out measures by
# them.

Point = tuple[float, float]

# A walk ends at this distance from a target's box.
STAND_M = 0.6


class Ways:
    """The doors of a house; paths between rooms are cached."""

    def __init__(self, house: House) -> None:
        self._doors: dict[str, list[tuple[Point, str]]] = {}
        for door in house.doors:
            if len(door.rooms) == 2:
                one, other = door.rooms
                self._doors.setdefault(one, []).append((door.center_m, other))
                self._doors.setdefault(other, []).append((door.center_m, one))
        self._known: dict[tuple[str, str], tuple[Point, ...] | None] = {}

    def way(self, room: str, to_room: str, goal: Point) -> tuple[Point, ...] | None:
        """The points to walk to in order, `goal` last; None if there is no path."""
        if room == to_room:
            return (goal,)
        key = (room, to_room)
        if key not in self._known:
            self._known[key] = self._search(room, to_room)
        doors = self._known[key]
        return None if doors is None else (*doors, goal)

    def _search(self, room: str, to_room: str) -> tuple[Point, ...] | None:
        """The doors of the shortest path, in order."""
        waiting: list[tuple[float, str, tuple[Point, ...]]] = [(0.0, room, ())]
        done: set[tuple[str, Point | None]] = set()
        while waiting:
            length, here, doors = heapq.heappop(waiting)
            if here == to_room:
                return doors
            last = doors[-1] if doors else None
            if (here, last) in done:
                continue
            done.add((here, last))
            for center, other in self._doors.get(here, ()):
                step = math.dist(last, center) if last is not None else 0.0
                heapq.heappush(waiting, (length + step, other, (*doors, center)))
        return None


def length_m(start: Point, way: tuple[Point, ...]) -> float:
    """The length of a path, metres."""
    return sum(math.dist(a, b) for a, b in zip((start, *way[:-1]), way, strict=True))


def stopped(start: Point, goal: Point, gap_m: Callable[[Point], float]) -> Point:
    """Where a straight walk to the centre of something stops: at `STAND_M` from its box.

    Args:
        start: of the straight part, such as the last door.
        goal: the centre.
        gap_m: a point's distance from the box.
    """
    if gap_m(start) <= STAND_M:
        return start
    low, high = 0.0, 1.0
    # The gap decreases all the way.
    for _ in range(12):
        share = (low + high) / 2
        point = (start[0] + (goal[0] - start[0]) * share, start[1] + (goal[1] - start[1]) * share)
        low, high = (share, high) if gap_m(point) > STAND_M else (low, share)
    return (start[0] + (goal[0] - start[0]) * high, start[1] + (goal[1] - start[1]) * high)
