"""The constant part of a house, prepared once for rays, and the grid for what is below a point."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.world.geometry import Box, Vec3, in_polygon
from planner.world.house import Furniture, House, Room

# A grid over the floor plan, by which a scene finds what may be below a point.
#
# Frame `map`, metres.

# Tolerance for floating-point rounding.
EPSILON_M = 1e-6
CELL_M = 1.0

# Column and row.
Cell = tuple[int, int]
# First and last column, first and last row.
CellRange = tuple[int, int, int, int]


def cell_at(x_m: float, y_m: float) -> Cell:
    """The cell of a point."""
    return (math.floor(x_m / CELL_M), math.floor(y_m / CELL_M))


def cell_range(box: Box) -> CellRange:
    """The cells that a box covers."""
    (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
    return range_of(x0, y0, x1, y1)


def range_of(x0: float, y0: float, x1: float, y1: float) -> CellRange:
    """The cells that a rectangle covers."""
    floor = math.floor
    return (
        floor((x0 - EPSILON_M) / CELL_M),
        floor((x1 + EPSILON_M) / CELL_M),
        floor((y0 - EPSILON_M) / CELL_M),
        floor((y1 + EPSILON_M) / CELL_M),
    )


def cells_in(cells: CellRange) -> Iterator[Cell]:
    """All cells of a range."""
    x0, x1, y0, y1 = cells
    return itertools.product(range(x0, x1 + 1), range(y0, y1 + 1))


@dataclass(frozen=True, slots=True)
class _Slab:
    """A box in its furniture's frame: x and y range, top, and the slide that moves it."""

    x: tuple[float, float]
    y: tuple[float, float]
    top: float
    slide: Vec3 | None

    def covers(self, x: float, y: float, openness: float) -> bool:
        """Whether a point of the frame is over the slab, or where it may have slid to."""
        if self.slide is None:
            (x0, x1), (y0, y1) = self.x, self.y
            return x0 - EPSILON_M <= x <= x1 + EPSILON_M and y0 - EPSILON_M <= y <= y1 + EPSILON_M
        dx, dy = self.slide[0] * openness, self.slide[1] * openness
        return (
            self.x[0] + min(dx, 0.0) - EPSILON_M <= x <= self.x[1] + max(dx, 0.0) + EPSILON_M
            and self.y[0] + min(dy, 0.0) - EPSILON_M <= y <= self.y[1] + max(dy, 0.0) + EPSILON_M
        )


class Piece:
    """A piece of furniture, prepared for rays.

    A drawer counts at every position between closed and the piece's openness, because the world
    reports only how far the widest joint is open, not which one. A hinged part counts at its
    closed position: a ray hits the same piece either way.
    """

    def __init__(self, record: Furniture) -> None:
        self.record = record
        self._cos, self._sin = math.cos(record.yaw_rad), math.sin(record.yaw_rad)
        self._slabs = tuple(
            sorted((_slab(record, i) for i in range(len(record.parts))), key=lambda s: -s.top)
        )
        self.reach_m = self._bounds()
        self.surroundings = self._with_hollows()
        # Cheap rejection: outside the bounds, no slab can be hit.
        x0, y0, x1, y1 = self.reach_m
        grown = 2 * EPSILON_M
        self._within_m = (x0 - grown, y0 - grown, x1 + grown, y1 + grown)

    def local(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Converts a point from the map to the piece's frame."""
        dx, dy = x_m - self.record.x_m, y_m - self.record.y_m
        return (dx * self._cos + dy * self._sin, dy * self._cos - dx * self._sin)

    def may_be_at(self, x_m: float, y_m: float) -> bool:
        """Whether a point of the map is within the bounds of what can be hit."""
        x0, y0, x1, y1 = self._within_m
        return x0 <= x_m <= x1 and y0 <= y_m <= y1

    def top_below(self, x_m: float, y_m: float, z_m: float, openness: float) -> float | None:
        """The height of the first surface below a point; None if the ray misses."""
        if not self.may_be_at(x_m, y_m):
            return None
        x, y = self.local(x_m, y_m)
        for slab in self._slabs:
            if slab.top <= z_m and slab.covers(x, y, openness):
                return slab.top
        return None

    def _bounds(self) -> tuple[float, float, float, float]:
        """(x_min, y_min, x_max, y_max) in the map of everything that can be hit."""
        return self._around((slab.x, slab.y, slab.slide) for slab in self._slabs)

    def _with_hollows(self) -> Box:
        """The box in the map around everything that can be hit or be inside."""
        hollows = [
            (
                (hollow.center[0] - hollow.size[0] / 2, hollow.center[0] + hollow.size[0] / 2),
                (hollow.center[1] - hollow.size[1] / 2, hollow.center[1] + hollow.size[1] / 2),
                _slide(self.record, hollow.joint) if hollow.moves else None,
            )
            for hollow in self.record.interiors
        ]
        x0, y0, x1, y1 = self._around(hollows)
        left, front, right, back = self.reach_m
        return Box(
            (min(x0, left), min(y0, front), 0.0),
            (max(x1, right), max(y1, back), self.record.size_m[2]),
        )

    def _around(
        self, parts: Iterable[tuple[tuple[float, float], tuple[float, float], Vec3 | None]]
    ) -> tuple[float, float, float, float]:
        """(x_min, y_min, x_max, y_max) in the map of x and y ranges with their slides."""
        low_x, low_y, high_x, high_y = 0.0, 0.0, 0.0, 0.0
        for (x0, x1), (y0, y1), slide in parts:
            dx, dy, _ = slide or (0.0, 0.0, 0.0)
            low_x, high_x = min(low_x, x0 + min(dx, 0)), max(high_x, x1 + max(dx, 0))
            low_y, high_y = min(low_y, y0 + min(dy, 0)), max(high_y, y1 + max(dy, 0))
        corners = [
            (
                self.record.x_m + x * self._cos - y * self._sin,
                self.record.y_m + x * self._sin + y * self._cos,
            )
            for x in (low_x, high_x)
            for y in (low_y, high_y)
        ]
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        return (min(xs), min(ys), max(xs), max(ys))


def _slab(record: Furniture, index: int) -> _Slab:
    part = record.parts[index]
    (cx, cy, cz), (sx, sy, sz) = part.center, part.size
    slide = _slide(record, part.joint)
    return _Slab((cx - sx / 2, cx + sx / 2), (cy - sy / 2, cy + sy / 2), cz + sz / 2, slide)


def _slide(record: Furniture, name: str | None) -> Vec3 | None:
    """How far a drawer slides, in its furniture's frame; None if nothing slides."""
    joint = record.joint(name) if name is not None else None
    if joint is None or joint.kind != "slide":
        return None
    ax, ay, az = joint.axis
    return (ax * joint.travel, ay * joint.travel, az * joint.travel)


class RoomVolume:
    """A room's polygon from floor to ceiling."""

    def __init__(self, room: Room) -> None:
        self._room = room
        xs = [x for x, _ in room.polygon_m]
        ys = [y for _, y in room.polygon_m]
        self._x, self._y = (min(xs), max(xs)), (min(ys), max(ys))

    def on_one_side(self, box: Box) -> bool:
        """Whether a box stays clear of the bounds of every edge, of floor and of ceiling."""
        (x0, y0, z0), (x1, y1, z1) = box.minimum_m, box.maximum_m
        if not (z0 >= 0.0 and z1 <= self._room.height_m):
            return False
        polygon, grown = self._room.polygon_m, 2 * EPSILON_M
        return not any(
            min(ax, bx) - grown <= x1
            and x0 <= max(ax, bx) + grown
            and min(ay, by) - grown <= y1
            and y0 <= max(ay, by) + grown
            for (ax, ay), (bx, by) in zip(polygon, (*polygon[1:], polygon[0]), strict=True)
        )

    def contains(self, point_m: Vec3) -> bool:
        """Whether a point lies inside; a point on a wall's line may belong to either room."""
        x, y, z = point_m
        if not (self._x[0] <= x <= self._x[1] and self._y[0] <= y <= self._y[1]):
            return False
        # A thing on the floor may be below it by rounding.
        if not -EPSILON_M <= z <= self._room.height_m + EPSILON_M:
            return False
        return in_polygon(self._room.polygon_m, x, y)


@dataclass(frozen=True, slots=True)
class Layout:
    """The constant part of a house, prepared once for all its episodes."""

    house: House
    pieces: Mapping[str, Piece]
    furniture_cells: Mapping[Cell, Sequence[Piece]]
    rooms: Mapping[str, RoomVolume]


_LAYOUTS: OrderedDict[int, Layout] = OrderedDict()
# Cached layouts; one of sixty pieces takes some 100 KiB.
_MAX_LAYOUTS = 16


def layout_of(house: House) -> Layout:
    """The prepared layout of a house, made at most once while it is cached."""
    # Keyed by identity, because comparing houses is as slow as preparing one; the layout keeps its
    # house alive, so the identity cannot be reused.
    layout = _LAYOUTS.get(id(house))
    if layout is None:
        pieces = {piece.name: Piece(piece) for piece in house.furniture}
        cells: dict[Cell, list[Piece]] = {}
        for prepared in pieces.values():
            for cell in cells_in(range_of(*prepared.reach_m)):
                cells.setdefault(cell, []).append(prepared)
        rooms = {room.name: RoomVolume(room) for room in house.rooms}
        layout = _LAYOUTS[id(house)] = Layout(house, pieces, cells, rooms)
        while len(_LAYOUTS) > _MAX_LAYOUTS:
            _LAYOUTS.popitem(last=False)
    return layout


def forget_layouts() -> None:
    """Frees all cached layouts."""
    _LAYOUTS.clear()
