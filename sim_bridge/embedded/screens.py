"""Occlusion by walls: which furniture cannot be seen from anywhere in a small square of floor.

Computed once for a house and kept over its episodes, so that views need not test furniture in other
rooms. Conservative: only what one straight wall hides from the whole square, including everything
that the furniture's doors and drawers reach, counts as hidden.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from planner.world.geometry import Box, FloatArray
from planner.world.house import Furniture, House
from sim_bridge.embedded.compiled import ffi, flags, floats, lib
from sim_bridge.embedded.entities import Piece

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Integers, Walls

CELL_M = 0.5
# Doors are tested at this many positions.
_SWEEP = 8
# A millimetre for the arcs between them, the rest for rounding.
_MARGIN_M = 0.02
_EPSILON_M = 1e-6

Point = tuple[float, float]
Point3 = tuple[float, float, float]
Segment = tuple[Point, Point]
Rectangle = tuple[float, float, float, float]
BoolArray = NDArray[np.bool_]


class Screens:
    """The walls of a house, and what they hide from squares of its floor.

    Attributes:
        regions: (x_min, y_min, x_max, y_max) of all furniture with its doors' motion, then of all
            rooms.
        index: the number of a region by the name of its furniture or room.
    """

    def __init__(self, house: House, walls: Iterable[Segment]) -> None:
        """Takes a house and the centre lines of its walls, which reach up to the ceiling."""
        self.regions = [swept(piece) for piece in house.furniture]
        self.regions += [_shrunk(room.shape.bounds) for room in house.rooms]
        names = [*(p.name for p in house.furniture), *(r.name for r in house.rooms)]
        self.index = {name: number for number, name in enumerate(names)}
        lines = np.array(merged(walls), float).reshape(-1, 2, 2)
        along = lines[:, 1] - lines[:, 0]
        lengths = np.hypot(along[:, 0], along[:, 1])
        corners = np.array([_corners(region) for region in self.regions])
        self._walls = cast("Walls", ffi.new("Walls *"))
        self._walls.walls, self._walls.regions = len(lines), len(self.regions)
        self._walls.margin_m = _EPSILON_M
        # A C structure does not keep the arrays alive that it points to.
        self._kept = (
            floats(np.ascontiguousarray(lines[:, 0])),
            floats(along / lengths[:, None]),
            floats(lengths),
            floats(corners),
        )
        starts_m, self._walls.along, self._walls.lengths_m, self._walls.corners_m = self._kept
        self._walls.starts_m = starts_m
        self._hidden: dict[tuple[int, int], Integers] = {}

    def hidden_from(self, x_m: float, y_m: float) -> BoolArray:
        """(regions + 1,) whether a wall hides a region from around a point; the last is False."""
        return np.frombuffer(ffi.buffer(self.flags_from(x_m, y_m)), np.bool_)

    def flags_from(self, x_m: float, y_m: float) -> Integers:
        """The same in C's form."""
        cell = (math.floor(x_m / CELL_M), math.floor(y_m / CELL_M))
        hidden = self._hidden.get(cell)
        if hidden is None:
            hidden = self._hidden[cell] = self._look_from(cell)
        return hidden

    def _look_from(self, cell: tuple[int, int]) -> Integers:
        x0, y0 = cell[0] * CELL_M, cell[1] * CELL_M
        square = np.array(_corners((x0, y0, x0 + CELL_M, y0 + CELL_M)))
        hidden = flags(np.zeros(len(self.regions) + 1, np.bool_))
        lib.hide(self._walls, floats(square), hidden)
        return hidden


def contains(region: Rectangle, box: Box) -> bool:
    """Whether a box is in a region, seen from above."""
    return (
        region[0] <= box.minimum_m[0]
        and region[1] <= box.minimum_m[1]
        and box.maximum_m[0] <= region[2]
        and box.maximum_m[1] <= region[3]
    )


def swept(record: Furniture) -> Rectangle:
    """The rectangle around a piece of furniture and all positions of its parts."""
    piece = Piece(record, 0, {}, {joint.name: 0.0 for joint in record.joints})
    corners = list(_box_corners((0.0, 0.0, 0.0), record.size_m))
    on_joints: dict[str, list[Point3]] = defaultdict(list)
    for part in record.parts:
        outline = _box_corners(part.center, part.size)
        if part.joint is None:
            corners += outline
        else:
            on_joints[part.joint] += outline
    origin, axes = _frame(piece.to_map)
    places = [np.array(corners) @ axes + origin]
    for name, outlines in on_joints.items():
        joint, points = record.joint(name), np.array(outlines)
        # Drawers move straight: only their end positions matter.
        steps = 1 if joint.kind == "slide" else _SWEEP
        for step in range(steps + 1):
            piece.opening[name] = step / steps
            origin, axes = _frame(partial(piece.moved, joint=joint))
            places.append(points @ axes + origin)
    xs, ys = np.concatenate(places)[:, :2].T
    margin = _MARGIN_M if record.joints else _EPSILON_M
    low, high = (float(xs.min()), float(ys.min())), (float(xs.max()), float(ys.max()))
    return (low[0] - margin, low[1] - margin, high[0] + margin, high[1] + margin)


def _frame(moved: Callable[[Point3], Point3]) -> tuple[FloatArray, FloatArray]:
    """(3,) the image of the origin under a rigid motion, and (3, 3) those of the axes, as rows."""
    origin = np.array(moved((0.0, 0.0, 0.0)))
    ends = [moved(axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]
    return origin, np.array(ends) - origin


def merged(walls: Iterable[Segment]) -> list[Segment]:
    """Merges collinear walls along x or y that touch."""
    spans: dict[tuple[bool, float], list[tuple[float, float]]] = defaultdict(list)
    found: list[Segment] = []
    for (x0, y0), (x1, y1) in walls:
        if abs(x0 - x1) < _EPSILON_M:
            spans[True, round(x0, 6)].append((min(y0, y1), max(y0, y1)))
        elif abs(y0 - y1) < _EPSILON_M:
            spans[False, round(y0, 6)].append((min(x0, x1), max(x0, x1)))
        else:
            found.append(((x0, y0), (x1, y1)))
    for (upright, at), parts in spans.items():
        for low, high in _joined(sorted(parts)):
            ends = ((at, low), (at, high)) if upright else ((low, at), (high, at))
            found.append(ends)
    return found


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for low, high in spans:
        if joined and low <= joined[-1][1] + _EPSILON_M:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _shrunk(bounds: Rectangle) -> Rectangle:
    # A room's own walls are on its outline, and hide its contents from outside.
    x0, y0, x1, y1 = bounds
    grown = 2 * _EPSILON_M
    return (x0 + grown, y0 + grown, x1 - grown, y1 - grown)


def _corners(region: Rectangle) -> list[Point]:
    x0, y0, x1, y1 = region
    return [(x0, y0), (x1, y0), (x0, y1), (x1, y1)]


def _box_corners(
    center: tuple[float, float, float], size: tuple[float, float, float]
) -> Iterable[tuple[float, float, float]]:
    cx, cy, cz = center
    for i, j, k in itertools.product((-0.5, 0.5), repeat=3):
        yield (cx + i * size[0], cy + j * size[1], cz + k * size[2])
