"""What all episodes of one house share: floor, paths, rooms, occlusion, and the compiled part."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Box, FloatArray
from planner.world.house import Furniture, House
from planner.world.state import room_state
from sim_bridge.embedded.entities import Piece

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Floats, Grid, Integers, Pointer, Walls


# Loads the compiled part, and converts arrays to its types.


class NotCompiledError(PlannerError, ImportError):
    """The compiled part cannot be loaded; the message says what to do."""


try:
    from sim_bridge.embedded._compiled import ffi as ffi
    from sim_bridge.embedded._compiled import lib as lib
except ImportError as error:
    if error.name == "_cffi_backend":
        cure = "pip install cffi"
    else:
        cure = (
            "run `make setup`, or where setup.py is `python setup.py build_ext --inplace`, which "
            "take cffi and a C compiler"
        )
    raise NotCompiledError(
        f"the simulator's compiled part cannot be loaded ({error}): {cure}"
    ) from error


def floats(array: FloatArray) -> Floats:
    """A C-contiguous array of doubles as a C pointer, which keeps it alive."""
    return ffi.from_buffer("double[]", array)


def indices(array: NDArray[np.intp]) -> Integers:
    """The same for row numbers."""
    return ffi.from_buffer("intptr_t[]", array)


def numbers(array: NDArray[np.int32]) -> Integers:
    """The same for 32-bit integers."""
    return ffi.from_buffer("int32_t[]", array)


def flags(array: NDArray[np.bool_]) -> Integers:
    """The same for booleans, one byte each."""
    return ffi.from_buffer("uint8_t[]", array)


# Shortest paths over a house's free floor; the search is in ways.c.

# x, y and radius in metres, in the map frame.
Discs = Sequence[tuple[float, float, float]]


class CellPath(NamedTuple):
    """A path over a grid.

    Attributes:
        cells: its cells or its corners, including both ends; empty if there is no path.
        length_m: from cell to cell; inf if there is no path.
    """

    cells: list[int]
    length_m: float


NO_PATH = CellPath([], math.inf)


class PathSearch:
    """Path search on one grid, 8-connected, without cutting corners.

    Of equally short paths the same one is always found. Cells are numbered as in the grid; an
    unknown cell raises IndexError.
    """

    def __init__(self, grid: FloorGrid) -> None:
        # Other Python threads run while C does, and there is memory for one search.
        self._room = Lock()
        self._cell_m, self._count = grid.cell_m, grid.free.size
        count = self._count
        self._grid = cast("Grid", ffi.new("Grid *"))
        self._grid.rows, self._grid.columns = grid.free.shape
        self._grid.x_m, self._grid.y_m = grid.origin_m
        self._grid.cell_m = grid.cell_m
        # C structures do not keep the arrays alive that they point to.
        self._kept: list[Pointer] = []

        def room() -> Integers:
            self._kept.append(made := numbers(np.zeros(count, np.int32)))
            return made

        self._grid.gone, self._grid.before = room(), room()
        self._grid.place, self._grid.heap = room(), room()
        self._grid.free = free = flags(np.ascontiguousarray(grid.free))
        self._grid.state = state = flags(np.zeros(count, np.bool_))
        self._grid.order = order = ffi.from_buffer("uint64_t[]", np.zeros(count, np.uint64))
        self._kept += [free, state, order]
        self._cells, self._length = room(), floats(np.zeros(1))

    def between(self, start: int, goal: int, discs: Discs = ()) -> CellPath:
        """The cells of the shortest path between two free ones.

        It avoids discs except around its start.
        """
        with self._room:
            return self._result(self._found(start, goal, discs))

    def corners(self, start: int, goal: int) -> CellPath:
        """The corners of the same path after straightening."""
        with self._room:
            found = self._found(start, goal, ())
            return self._result(lib.straighten(self._grid, self._cells, found))

    def off(self, start: int, points_m: FloatArray, gap_m: float, discs: Discs = ()) -> list[int]:
        """The cells of the shortest path to one farther than a gap from (n, 2) points of the map.

        It avoids discs except around its start; empty if no such cell can be reached.
        """
        self._check(start)
        apart, points = _three(discs), np.ascontiguousarray(points_m, np.float64)
        with self._room:
            found = lib.way_off(
                self._grid,
                start,
                floats(points),
                len(points),
                gap_m,
                floats(apart),
                len(apart),
                self._cells,
            )
            return ffi.unpack(self._cells, found)

    def _check(self, *cells: int) -> None:
        """C does not check bounds."""
        for cell in cells:
            if not 0 <= cell < self._count:
                raise IndexError(f"there is no cell {cell} among {self._count}")

    def _found(self, start: int, goal: int, discs: Discs) -> int:
        self._check(start, goal)
        apart = _three(discs)
        return lib.way_between(
            self._grid, start, goal, floats(apart), len(apart), self._cells, self._length
        )

    def _result(self, found: int) -> CellPath:
        if not found:
            return NO_PATH
        return CellPath(ffi.unpack(self._cells, found), self._length[0] * self._cell_m)


def _three(discs: Discs) -> NDArray[np.float64]:
    return np.array(discs, np.float64).reshape(-1, 3)


# Occlusion by walls: which furniture cannot be seen from anywhere in a small square of floor.
#
# Computed once for a house and kept over its episodes, so that views need not test furniture in
# other rooms. Conservative: only what one straight wall hides from the whole square, including
# everything that the furniture's doors and drawers reach, counts as hidden.

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


# Furniture is looked up by squares of this size.
_CELL_M = 1.0


class Way(NamedTuple):
    """A path over a floor.

    Attributes:
        corners: where it turns, without its start, with its end; empty if there is no path.
        length_m: inf if there is no path.
    """

    corners: list[tuple[float, float]]
    length_m: float


class HouseGround:
    """What all episodes of one house have in common: the grids and the room entities."""

    def __init__(self, house: House) -> None:
        self.house = house
        self._grids: dict[float, FloorGrid] = {}
        self._ways: dict[float, PathSearch] = {}
        self._swept: dict[str, Rectangle] = {}
        self._standing: dict[tuple[int, int], list[Furniture]] = {}
        for piece in house.furniture:
            (x0, y0, _), (x1, y1, _) = piece.box.minimum_m, piece.box.maximum_m
            for column in range(math.floor(x0 / _CELL_M), math.floor(x1 / _CELL_M) + 1):
                for row in range(math.floor(y0 / _CELL_M), math.floor(y1 / _CELL_M) + 1):
                    self._standing.setdefault((column, row), []).append(piece)
        self.rooms = {room.name: room_state(room) for room in house.rooms}

    def grid(self, radius_m: float) -> FloorGrid:
        """The free floor for agents of this radius, cached."""
        grid = self._grids.get(radius_m)
        if grid is None:
            grid = self._grids[radius_m] = FloorGrid.of(self.house, radius_m)
        return grid

    def starts(self, radius_m: float) -> FloorGrid:
        """Start positions of agents of this radius, the same in all simulators of a house."""
        return self.grid(radius_m)

    def ways(self, radius_m: float) -> PathSearch:
        """The path search on that floor, cached."""
        ways = self._ways.get(radius_m)
        if ways is None:
            ways = self._ways[radius_m] = PathSearch(self.grid(radius_m))
        return ways

    def way(self, radius_m: float, start_m: tuple[float, float], goal: int) -> Way:
        """The shortest path from a point to a cell of the grid."""
        grid = self.grid(radius_m)
        cells, length_m = self.ways(radius_m).corners(standing_cell(grid, *start_m), goal)
        return Way([grid.point(cell) for cell in cells[1:] or cells], length_m)

    def stepped(
        self,
        radius_m: float,  # noqa: ARG002 - other floors ask
        start_m: tuple[float, float],  # noqa: ARG002
        end_m: tuple[float, float],
    ) -> tuple[float, float]:
        """Where a straight step ends, which the floor's edge may cut short."""
        return end_m

    def off_m(self, radius_m: float, point_m: tuple[float, float]) -> float:
        """Horizontal distance of a point to the nearest floor for agents of this radius."""
        grid = self.grid(radius_m)
        x, y = point_m
        cell = grid.nearest_free(x, y)
        if cell is None:
            return math.inf
        at_x, at_y = grid.point(cell)
        # To the cell's edge: every point of it is free.
        half = grid.cell_m / 2
        return math.hypot(max(0.0, abs(x - at_x) - half), max(0.0, abs(y - at_y) - half))

    def is_in_furniture(self, x_m: float, y_m: float, lowest_m: float) -> bool:
        """Whether something at this height over a point of the map is in a furniture's box."""
        cell = (math.floor(x_m / _CELL_M), math.floor(y_m / _CELL_M))
        for piece in self._standing.get(cell, ()):
            if lowest_m < piece.size_m[2]:
                dx, dy = x_m - piece.x_m, y_m - piece.y_m
                c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
                along, across = abs(dx * c + dy * s), abs(dy * c - dx * s)
                if along < piece.size_m[0] / 2 and across < piece.size_m[1] / 2:
                    return True
        return False

    def swept(self, name: str) -> Rectangle:
        """The rectangle around a piece of furniture and all positions of its doors and drawers."""
        rectangle = self._swept.get(name)
        if rectangle is None:
            rectangle = self._swept[name] = swept(self.house.furniture_by_name[name])
        return rectangle


def standing_cell(grid: FloorGrid, x_m: float, y_m: float) -> int:
    """The free cell that a body at a point stands on, or is nearest to.

    Raises:
        PlannerError: if no cell is free.
    """
    cell = grid.cell(x_m, y_m)
    if cell is None or not grid.free.flat[cell]:
        cell = grid.nearest_free(x_m, y_m)
    if cell is None:
        raise PlannerError("the house has no free floor to stand on")
    return cell
