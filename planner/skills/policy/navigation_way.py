"""The way to a goal over what depth pictures have shown, where unseen floor counts as free.

It is planned anew when something stands on it or the body has left it, so that a body which follows
it explores until it arrives or knows that there is no way (optimism in the face of the unknown, as
in D* Lite).
"""

from __future__ import annotations

import math
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

# Cells of this grid have two by two cells of the map.
_FINE = 2
# Nearer than this to something that hinders there is no way; up to the second it is a detour
# that costs more, by up to the factor.
_BLOCKED_M, _TIGHT_M, _TIGHT_COST = 0.26, 0.5, 4.0
# Unseen floor costs a little more than seen floor.
_UNSEEN_COST = 1.2
# Around the body and the goal what hinders is not believed: both stand on free floor.
_TRUSTED_M = 0.3
# Where no way is left, what was seen so near to body or goal is doubted, first the nearer; what a
# metre costs that is too close to it, and on it.
_DOUBTED_M = (1.0, 2.0)
_NARROW_COST, _DOUBTED_COST = 10.0, 100.0
# Floor beyond what is known may be part of the way, as far as this.
_MARGIN_M = 3.0
# A body farther than this from its way has left it.
_LEFT_M = 0.4

Points = NDArray[np.float64]
Codes = NDArray[np.uint8]
_NONE: Points = np.zeros((0, 2))


class OptimisticWay:
    """The way of one walk; `points` is planned lazily."""

    def __init__(self) -> None:
        self._points: Points = _NONE

    def points(
        self,
        cells: Codes,
        hinders: int,
        cell_m: float,
        base: tuple[float, float],
        goal: tuple[float, float],
        certain: int = 0,
    ) -> Points:
        """(n, 2) metres of the map's lower left corner, from the body to the goal.

        Args:
            cells: (rows, columns) codes of the map, 0 where nothing is known; row is y.
            hinders: the bit of the codes where something hinders.
            cell_m: side of a cell.
            base: of the body, from the map's lower left corner.
            goal: as `base`.
            certain: the bit where that is so next to the body, too.

        Returns:
            The rest of the way; no points where all ways are blocked.
        """
        rest = self._rest(cells, hinders, cell_m, base, certain)
        if rest is None:
            rest = _planned(cells, hinders, cell_m, base, goal, certain=certain)
        self._points = rest
        return rest

    def _rest(
        self, cells: Codes, hinders: int, cell_m: float, base: tuple[float, float], certain: int
    ) -> Points | None:
        """What is left of the last way; None where another has to be planned."""
        points = self._points
        if not len(points):
            return None
        gaps = np.hypot(points[:, 0] - base[0], points[:, 1] - base[1])
        nearest = int(np.argmin(gaps))
        if gaps[nearest] > _LEFT_M:
            return None
        rest = points[nearest:]
        if certain and _hindered(cells, certain, cell_m, rest):
            return None
        away = np.hypot(rest[:, 0] - base[0], rest[:, 1] - base[1]) > _TRUSTED_M
        away &= np.hypot(*(rest - rest[-1]).T) > _TRUSTED_M
        if _hindered(cells, hinders, cell_m, rest[away]):
            return None
        return rest


def doubted_way(
    cells: Codes,
    hinders: int,
    cell_m: float,
    base: tuple[float, float],
    goal: tuple[float, float],
    certain: int = 0,
) -> Points:
    """As `OptimisticWay.points` where all ways are blocked: through as little as possible.

    Body and goal are on free floor, so that what encloses one of them was seen wrongly, has moved,
    or is a door of furniture that stands open. What is farther away is not doubted: it would often
    be shorter through a wall. What is `certain` is not, either.
    """
    for doubted_m in _DOUBTED_M:
        found = _planned(cells, hinders, cell_m, base, goal, certain=certain, doubted_m=doubted_m)
        if len(found):
            return found
    return _NONE


def _hindered(cells: Codes, hinders: int, cell_m: float, points: Points) -> bool:
    """Whether something hinders next to one of the points."""
    around = np.floor(points[:, None, :] / cell_m).astype(np.int32) + _around(cell_m)
    columns = around[..., 0].clip(0, cells.shape[1] - 1)
    rows = around[..., 1].clip(0, cells.shape[0] - 1)
    return bool((cells[rows, columns] & hinders).any())


@lru_cache(maxsize=8)
def _around(cell_m: float) -> NDArray[np.int32]:
    """(n, 2) columns and rows to the cells nearer than what blocks a way."""
    reach = math.floor(_BLOCKED_M / cell_m)
    offsets = range(-reach, reach + 1)
    near = [(x, y) for x in offsets for y in offsets if math.hypot(x, y) * cell_m < _BLOCKED_M]
    return np.array(near, np.int32)


def _planned(
    cells: Codes,
    hinders: int,
    cell_m: float,
    base: tuple[float, float],
    goal: tuple[float, float],
    *,
    certain: int = 0,
    doubted_m: float = 0.0,
) -> Points:
    seen = cells > 0
    top, left, rows, columns = _window(seen, cell_m, base, goal)
    part = (slice(top, top + rows), slice(left, left + columns))
    occupied = (cells[part] & hinders) > 0
    cost = _costs(occupied, seen[part], cell_m)
    here = (base[0] - left * cell_m, base[1] - top * cell_m)
    there = (goal[0] - left * cell_m, goal[1] - top * cell_m)
    for x, y in (here, there):
        if doubted_m:
            _doubt(cost, occupied, cell_m, (x, y), doubted_m)
        _trust(cost, cell_m, x, y)
    coarse = cost.reshape(rows // _FINE, _FINE, columns // _FINE, _FINE).min(axis=(1, 3))
    touched = (cells[part] & certain) > 0
    coarse[touched.reshape(rows // _FINE, _FINE, columns // _FINE, _FINE).any(axis=(1, 3))] = np.inf
    side_m = cell_m * _FINE
    start, end = (_cell(coarse.shape, side_m, point) for point in (here, there))
    # Body and goal are on free floor even where something was touched in the same cell.
    for cell in (start, end):
        coarse.flat[cell] = min(coarse.flat[cell], _TIGHT_COST)
    way = _cheapest(coarse, start, end)
    ys, xs = np.divmod(way, coarse.shape[1])
    points = np.stack([xs + 0.5, ys + 0.5], axis=1) * side_m
    if len(points):
        points[-1] = there
    return points + np.array([left, top]) * cell_m


def _window(
    seen: NDArray[np.bool_], cell_m: float, base: tuple[float, float], goal: tuple[float, float]
) -> tuple[int, int, int, int]:
    """First row and column, and the even numbers of rows and columns, that a way may use."""
    ys, xs = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    low, high = [], []
    for axis, known in ((1, ys), (0, xs)):
        ends = [base[axis] / cell_m, goal[axis] / cell_m]
        if len(known):
            ends += [float(known[0]), float(known[-1])]
        low.append(max(0, math.floor(min(ends) - _MARGIN_M / cell_m)))
        high.append(min(seen.shape[1 - axis], math.ceil(max(ends) + _MARGIN_M / cell_m)))
    rows, columns = ((high[i] - low[i]) // _FINE * _FINE for i in (0, 1))
    return low[0], low[1], rows, columns


def _costs(
    occupied: NDArray[np.bool_], seen: NDArray[np.bool_], cell_m: float
) -> NDArray[np.float64]:
    """What a metre costs in each cell; infinite where there is no way."""
    clear_m = cv2.distanceTransform((~occupied).astype(np.uint8), cv2.DIST_L2, 3) * cell_m
    share = np.clip((_TIGHT_M - clear_m) / (_TIGHT_M - _BLOCKED_M), 0.0, 1.0)
    cost = (1.0 + (_TIGHT_COST - 1.0) * share) * np.where(seen, 1.0, _UNSEEN_COST)
    cost[clear_m < _BLOCKED_M] = np.inf
    found: NDArray[np.float64] = cost
    return found


def _trust(cost: NDArray[np.float64], cell_m: float, x: float, y: float) -> None:
    """Makes the cells around a point passable, at a high cost."""
    reach = math.ceil(_TRUSTED_M / cell_m)
    row, column = int(y / cell_m), int(x / cell_m)
    part = cost[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
    part[np.isinf(part)] = _TIGHT_COST


def _doubt(
    cost: NDArray[np.float64],
    occupied: NDArray[np.bool_],
    cell_m: float,
    point: tuple[float, float],
    doubted_m: float,
) -> None:
    """Makes what is near to a point passable, at a higher cost where something hinders."""
    rows, columns = np.indices(cost.shape)
    gaps_m = np.hypot((columns + 0.5) * cell_m - point[0], (rows + 0.5) * cell_m - point[1])
    near = gaps_m <= doubted_m
    cost[near & np.isinf(cost)] = _NARROW_COST
    cost[near & occupied] = _DOUBTED_COST


def _cell(shape: tuple[int, ...], side_m: float, point: tuple[float, float]) -> int:
    row = min(max(int(point[1] / side_m), 0), shape[0] - 1)
    column = min(max(int(point[0] / side_m), 0), shape[1] - 1)
    return row * shape[1] + column


def _cheapest(cost: NDArray[np.float64], start: int, end: int) -> NDArray[np.int64]:
    """The cells from `start` to `end`; none where there is no way."""
    begins, ends, lengths = _edges(*cost.shape)
    flat = cost.ravel()
    weights = lengths * (flat[begins] + flat[ends]) / 2
    usable = np.isfinite(weights)
    graph = csr_matrix((weights[usable], (begins[usable], ends[usable])), shape=(flat.size,) * 2)
    reached, before = dijkstra(graph, indices=end, return_predecessors=True)
    if not math.isfinite(reached[start]):
        return np.zeros(0, np.int64)
    cells = [start]
    while cells[-1] != end:
        cells.append(int(before[cells[-1]]))
    return np.array(cells, np.int64)


@lru_cache(maxsize=64)
def _edges(
    rows: int, columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Both ends and the length in cells of each step between neighbours, in both directions."""
    number = np.arange(rows * columns).reshape(rows, columns)
    pairs = [
        (number[:, :-1], number[:, 1:], 1.0),
        (number[:-1], number[1:], 1.0),
        (number[:-1, :-1], number[1:, 1:], math.sqrt(2)),
        (number[:-1, 1:], number[1:, :-1], math.sqrt(2)),
    ]
    begins = np.concatenate([a.ravel() for a, _, _ in pairs] + [b.ravel() for _, b, _ in pairs])
    ends = np.concatenate([b.ravel() for _, b, _ in pairs] + [a.ravel() for a, _, _ in pairs])
    lengths = np.concatenate([np.full(a.size, length) for a, _, length in pairs] * 2)
    return begins, ends, lengths
