"""Where to stand, and where on furniture to put an object, according to the belief."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from planner.world.belief import BeliefNode
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Box, FloatArray, Vec3
from planner.world.house import Furniture, House, Interior
from planner.world.receptacle import parts_beside
from planner.world.vocabulary import Relation

# Distance from furniture that keeps it in reach and mostly in view of the hand camera.
GAP_M = 0.55
# The closest distance, from which a bin can be looked into.
CLOSE_M = 0.3
# Tolerance: an agent stops on the middle of a cell and not exactly on target.
MARGIN_M = 0.15
# Distance from a thing on the floor: not on it, but well within reach.
BESIDE_M = (0.45, 0.9)
# Furniture rising this much above its seat has a back that hides the seat.
_BACK_M = 0.15
# Free floor of less than this between furniture is a gap, into which nobody can walk.
_GAP_M2 = 1.0
# How far from free floor an agent may be.
_OFF_M = 1.0
# Cached grounds: sixteen houses for two sizes of bodies.
_KEPT = 32

_grounds: list[tuple[House, float, Ground]] = []


@dataclass(frozen=True, slots=True)
class Stand:
    """A free place on the floor and the heading there, map frame, metres, radians."""

    x_m: float
    y_m: float
    yaw_rad: float

    @property
    def point_m(self) -> Vec3:
        """The place as a target point."""
        return (self.x_m, self.y_m, 0.0)


class Ground:
    """The free floor of a layout for bodies of one radius."""

    def __init__(self, layout: House, radius_m: float, grid: FloorGrid | None = None) -> None:
        """The floor is that of the layout, or `grid`."""
        self.layout = layout
        self.grid = grid if grid is not None else FloorGrid.of(layout, radius_m)

    def at_furniture(
        self, piece: Furniture, base: Vec3 | None, reach_m: float, before_m: Vec3 | None = None
    ) -> Stand | None:
        """A pose from which most of the furniture is in reach.

        Furniture that opens or has hollows or boards is approached from its front; furniture with
        a back is not approached from behind. Among equal places, the one nearest to `base` is
        chosen.

        Args:
            piece: the furniture.
            base: the agent's current position in the map; None if unknown.
            reach_m: the agent's.
            before_m: a point of the furniture to stand at, instead of its middle.
        """
        half = math.hypot(piece.size_m[0], piece.size_m[1]) / 2
        cells = self._cells_near(piece.x_m, piece.y_m, half + reach_m, piece.room, base)
        if not len(cells):
            return None
        points = self._points(cells)
        goals = _handling_points(piece)
        to_goals = np.linalg.norm(points[:, None, :] - goals[None, :, :], axis=2)
        out = (to_goals > reach_m - MARGIN_M).sum(axis=1)
        cost = 4.0 * out / len(goals)
        return self._best(piece, points, cost, GAP_M, base, before_m)

    def to_look(self, piece: Furniture, base: Vec3 | None, away_m: float) -> Stand | None:
        """A place at about this distance from the furniture's outline.

        Considers only places closer to it, or further away, than that of `at_furniture`; None if
        there are none.
        """
        half = math.hypot(piece.size_m[0], piece.size_m[1]) / 2
        cells = self._cells_near(piece.x_m, piece.y_m, half + away_m + 0.3, piece.room, base)
        points = self._points(cells)
        gap = _gaps(piece, points)
        points = points[gap < GAP_M - 0.1 if away_m < GAP_M else gap > GAP_M + 0.1]
        if not len(points):
            return None
        return self._best(piece, points, np.zeros(len(points)), away_m, base, None)

    def _best(
        self,
        piece: Furniture,
        points: FloatArray,
        cost: FloatArray,
        away_m: float,
        base: Vec3 | None,
        before_m: Vec3 | None,
    ) -> Stand:
        """The best place by its own cost, distance, side and the walk there."""
        local = to_local(piece, points)
        cost = cost + np.abs(_gaps(piece, points) - away_m)
        if piece.joints or piece.interiors or len(piece.surfaces) > 1:
            middle = 0.0
            if before_m is not None:
                middle = float(to_local(piece, np.array([before_m[:2]]))[0, 1])
            cost += np.where(local[:, 0] > piece.size_m[0] / 2, 0.0, 8.0)
            cost += 0.5 * np.abs(local[:, 1] - middle)
        else:
            cost += 0.3 * np.abs(local).min(axis=1)
            if _has_back(piece):
                cost += np.where(local[:, 0] < -piece.size_m[0] / 4, 1.0, 0.0)
        if base is not None:
            cost += 0.05 * np.hypot(points[:, 0] - base[0], points[:, 1] - base[1])
        x, y = points[int(np.argmin(cost))]
        return _facing(float(x), float(y), piece.x_m, piece.y_m)

    def beside(
        self, point_m: Vec3, base: Vec3 | None, away_m: tuple[float, float] = BESIDE_M
    ) -> Stand | None:
        """Next to a thing or a person on the floor, as far away as said, nearest to `base`."""
        room = self.layout.room_at(point_m[0], point_m[1])
        cells = self._cells_near(point_m[0], point_m[1], away_m[1], room, base)
        points = self._points(cells)
        away = np.hypot(points[:, 0] - point_m[0], points[:, 1] - point_m[1])
        points = points[away >= away_m[0]]
        if not len(points):
            return None
        start = base or point_m
        nearest = np.argmin(np.hypot(points[:, 0] - start[0], points[:, 1] - start[1]))
        x, y = points[int(nearest)]
        return _facing(float(x), float(y), point_m[0], point_m[1])

    def back_from(self, point_m: Vec3, base: Vec3 | None, reach_m: float) -> Stand | None:
        """As far from a point as a hand reaches, where the top of tall furniture is visible."""
        room = self.layout.room_at(point_m[0], point_m[1])
        cells = self._cells_near(point_m[0], point_m[1], reach_m - MARGIN_M, room, base)
        if not len(cells):
            return None
        points = self._points(cells)
        away = np.hypot(points[:, 0] - point_m[0], points[:, 1] - point_m[1])
        start = base or point_m
        walk = np.hypot(points[:, 0] - start[0], points[:, 1] - start[1])
        x, y = points[int(np.argmax(away - 0.1 * walk))]
        return _facing(float(x), float(y), point_m[0], point_m[1])

    def in_room(self, room: str, base: Vec3 | None) -> Stand | None:
        """The free place nearest to a room's middle, facing most of its furniture."""
        shape = self.layout.rooms_by_name[room].shape
        middle = shape.centroid if shape.contains(shape.centroid) else shape.representative_point()
        x0, y0, x1, y1 = shape.bounds
        size = math.hypot(x1 - x0, y1 - y0)
        cells = self._cells_near(middle.x, middle.y, size, room, base)
        if not len(cells):
            return None
        points = self._points(cells)
        nearest = np.argmin(np.hypot(points[:, 0] - middle.x, points[:, 1] - middle.y))
        x, y = (float(v) for v in points[int(nearest)])
        pieces = [piece for piece in self.layout.furniture if piece.room == room]
        east, north = sum(p.x_m - x for p in pieces), sum(p.y_m - y for p in pieces)
        return Stand(x, y, math.atan2(north, east) if pieces else 0.0)

    def floor_points(self, room: str, near: Vec3, max_count: int) -> list[Vec3]:
        """Free floor of a room to put things on, nearest to a point but not directly below it."""
        cells = self._cells_near(near[0], near[1], math.inf, room, None)
        points = self._points(cells)
        away = np.hypot(points[:, 0] - near[0], points[:, 1] - near[1])
        order = np.argsort(np.abs(away - 0.7), kind="stable")
        found: list[Vec3] = []
        for index in order:
            point = (float(points[index, 0]), float(points[index, 1]), 0.0)
            if all(math.dist(point, other) > 0.5 for other in found):
                found.append(point)
            if len(found) == max_count:
                break
        return found

    def walk_m(self, base: Vec3, point_m: Vec3, reach_m: float) -> float:
        """The walk until a point is within reach; inf if there is no way."""
        if math.dist(base[:2], point_m[:2]) <= reach_m:
            return 0.0
        here = self._floor_of(base)
        cells = self.grid.free_within(point_m[0], point_m[1], reach_m)
        if here is None or not len(cells):
            return math.inf
        return float(self.grid.field(here).distance_m[cells].min())

    def _cells_near(
        self, x_m: float, y_m: float, within_m: float, room: str | None, base: Vec3 | None
    ) -> NDArray[np.int64]:
        """Free cells around a point, in the room and connected to `base`."""
        grid = self.grid
        cells = grid.free_within(x_m, y_m, within_m)
        if room is not None:
            cells = cells[self._room_cells[room][cells]]
        if base is not None:
            here = self._floor_of(base)
            if here is not None:
                label = grid.components.flat[here]
                cells = cells[grid.components.flat[cells] == label]
        return cells

    def _floor_of(self, base: Vec3) -> int | None:
        """The nearest free cell that an agent at `base` can have come from; None if none is near.

        Beside furniture the nearest cell may be in a gap that no way leads into or out of. Then it
        is that of the largest floor nearby, in the same room if there is one.
        """
        grid = self.grid
        nearest = grid.nearest_free(base[0], base[1], within_m=_OFF_M)
        if nearest is None or self._floor_m2(nearest) >= _GAP_M2:
            return nearest
        cells = grid.free_within(base[0], base[1], _OFF_M)
        room = self.layout.room_at(base[0], base[1])
        if room is not None and self._room_cells[room][nearest]:
            cells = cells[self._room_cells[room][cells]]
        parts = grid.components.flat[cells]
        cells = cells[parts == parts[int(np.argmax(self._part_cells[parts]))]]
        away = np.linalg.norm(self._points(cells) - np.array(base[:2]), axis=1)
        return int(cells[int(np.argmin(away))])

    def _floor_m2(self, cell: int) -> float:
        """The area of the connected free floor that a cell belongs to."""
        return float(self._part_cells[self.grid.components.flat[cell]]) * self.grid.cell_m**2

    @cached_property
    def _part_cells(self) -> NDArray[np.int64]:
        """The number of cells of each connected part of the free floor, by its label."""
        return np.bincount(self.grid.components.ravel())

    def _points(self, cells: NDArray[np.int64]) -> FloatArray:
        rows, columns = np.divmod(cells, self.grid.columns)
        x0, y0 = self.grid.origin_m
        cell_m = self.grid.cell_m
        return np.stack([x0 + (columns + 0.5) * cell_m, y0 + (rows + 0.5) * cell_m], axis=1)

    @cached_property
    def _room_cells(self) -> dict[str, NDArray[np.bool_]]:
        points = self._points(np.arange(self.grid.rows * self.grid.columns))
        return {
            room.name: np.asarray(shapely.contains_xy(room.shape, points[:, 0], points[:, 1]))
            for room in self.layout.rooms
        }


def ground_of(layout: House, radius_m: float) -> Ground:
    """The ground of a layout, cached for all agents of one size and all episodes in it."""
    for house, radius, ground in _grounds:
        if house is layout and radius == radius_m:
            return ground
    made = Ground(layout, radius_m)
    _grounds.insert(0, (layout, radius_m, made))
    del _grounds[_KEPT:]
    return made


def forget_grounds() -> None:
    """Frees all cached grounds."""
    _grounds.clear()


def to_local(piece: Furniture, points: FloatArray) -> FloatArray:
    """(n, 2) points of the map in the furniture's frame."""
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    dx, dy = points[:, 0] - piece.x_m, points[:, 1] - piece.y_m
    return np.stack([dx * c + dy * s, -dx * s + dy * c], axis=1)


def to_map(piece: Furniture, point: Vec3) -> Vec3:
    """A point of the furniture's frame in the map."""
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    x, y, z = point
    return (piece.x_m + x * c - y * s, piece.y_m + x * s + y * c, z)


def gap_m(piece: Furniture, base: Vec3) -> float:
    """Horizontal distance from a body's centre to the furniture's outline."""
    return float(_gaps(piece, np.array([[base[0], base[1]]]))[0])


def _gaps(piece: Furniture, points: FloatArray) -> FloatArray:
    gap = np.maximum(np.abs(to_local(piece, points)) - np.array(piece.size_m[:2]) / 2, 0.0)
    distance: FloatArray = np.hypot(gap[:, 0], gap[:, 1])
    return distance


def _has_back(piece: Furniture) -> bool:
    """Whether it rises well above its surfaces: chairs, couches, beds."""
    return bool(piece.surfaces) and piece.size_m[2] > _BACK_M + max(
        surface.center[2] for surface in piece.surfaces
    )


def _handling_points(piece: Furniture) -> FloatArray:
    """(n, 2) positions of handles and middles of surfaces and hollows in the map."""
    local: list[Vec3] = [joint.handle for joint in piece.joints]
    local += [surface.center for surface in piece.surfaces]
    local += [hollow.center for hollow in piece.interiors]
    return np.array([to_map(piece, point)[:2] for point in local or [(0.0, 0.0, 0.0)]])


def _facing(x_m: float, y_m: float, to_x_m: float, to_y_m: float) -> Stand:
    return Stand(x_m, y_m, math.atan2(to_y_m - y_m, to_x_m - x_m))


# Where on furniture to try to put an object, according to the belief.
#
# The backend finds the exact free spot around each point; here the points are chosen and ordered.

# Distance between points on one surface: the backend searches as far as the hand reaches.
APART_M = 0.8
_PITCH_M = 0.12
_EDGE_M = 0.06
_CLEAR_M = 0.12
# A convenient height for a hand.
_EASY_M = 0.9
_TIGHT_M = 0.2
_ABOVE_GROUND_M = 0.02


@dataclass(frozen=True, slots=True)
class Spot:
    """A point of the map to put something at, and its surface or hollow."""

    point_m: Vec3
    part: str


@dataclass(frozen=True, slots=True)
class _Support:
    part: str
    center: Vec3
    size: tuple[float, float]
    clearance_m: float
    slides: bool


def spots(
    piece: Furniture,
    relation: Relation,
    things: Iterable[BeliefNode],
    base: Vec3 | None,
    openness: float,
    next_to_m: Vec3 | None = None,
) -> list[Spot]:
    """Points on (or within) the furniture in the order in which to try them.

    Args:
        piece: the furniture.
        relation: on a surface or within a hollow.
        things: believed to be there already.
        base: the agent's position in the map; None if unknown.
        openness: how far its drawers are believed to be open, 0 to 1.
        next_to_m: the reference to put it next to, in the map.
    """
    supports = _supports(piece, relation, openness)
    lying = [(node.position_m, node.size_m) for node in things]
    near = next_to_m or base or to_map(piece, (piece.size_m[0] / 2 + 0.5, 0.0, 0.0))
    ranked = sorted(supports, key=lambda s: _rank(piece, s, near, next_to_m))
    first, more = [], []
    for support in ranked:
        points = _points(piece, support, lying, near, deep=relation is Relation.WITHIN)
        first += points[:1]
        more += points[1:]
        if next_to_m is not None:
            # Only the surface with the reference is acceptable.
            break
    return [*first, *more]


def spots_beside(
    piece: Furniture,
    relation: Relation,
    things: Iterable[BeliefNode],
    reference: Furniture,
    openness: float,
    within_m: float,
) -> list[Spot]:
    """Free points on (or within) furniture next to other furniture, the closest first.

    Args:
        piece: the furniture that holds the thing.
        relation: on a surface or within a hollow.
        things: believed to be there already.
        reference: the furniture to put it next to.
        openness: how far the drawers of `piece` are believed to be open, 0 to 1.
        within_m: maximum gap between a point and the reference's box.
    """
    parts = parts_beside(piece, relation, reference, within_m)
    lying = [(node.position_m, node.size_m) for node in things]
    found: list[Spot] = []
    for support in _supports(piece, relation, openness):
        if support.part not in parts:
            continue
        points = [p for p in _grid(piece, support) if _gap_m(p, reference) <= within_m]
        # Around what is taken the backend would find a free spot, but one farther away.
        free = [point for point in points if not _taken(point, support, lying)]
        found += _apart(sorted(free, key=lambda p: _gap_m(p, reference)), support)
    return sorted(found, key=lambda spot: _gap_m(spot.point_m, reference))


def _gap_m(point: Vec3, piece: Furniture) -> float:
    """Horizontal distance from a point to the box around furniture."""
    return Box(point, point).horizontal_gap_m(piece.box)


def opened_center(piece: Furniture, hollow: Interior, openness: float) -> Vec3:
    """The middle of a hollow in the furniture's frame, with its drawer open that far."""
    x, y, z = hollow.center
    if hollow.joint is None or not hollow.moves:
        return (x, y, z)
    joint = piece.joint(hollow.joint)
    shift = joint.travel * openness if joint.kind == "slide" else 0.0
    dx, dy, dz = joint.axis
    return (x + shift * dx, y + shift * dy, z + shift * dz)


def _supports(piece: Furniture, relation: Relation, openness: float) -> list[_Support]:
    if relation is Relation.ON:
        return [_Support(s.name, s.center, s.size, s.clearance, False) for s in piece.surfaces]
    found = []
    for hollow in piece.interiors:
        x, y, z = opened_center(piece, hollow, openness)
        # Aim at the bottom, where things lie: seeing a bin's middle does not mean seeing that.
        bottom = (x, y, z - hollow.size[2] / 2 + _ABOVE_GROUND_M)
        size = (hollow.size[0], hollow.size[1])
        found.append(_Support(hollow.name, bottom, size, hollow.size[2], hollow.moves))
    return found


def _rank(
    piece: Furniture, support: _Support, near: Vec3, next_to_m: Vec3 | None
) -> tuple[float, ...]:
    center = to_map(piece, support.center)
    if next_to_m is not None:
        return (_height_gap(support, next_to_m), math.dist(center, next_to_m))
    # The upper one of several open drawers covers the lower ones.
    drawer = -support.center[2] if support.slides else 0.0
    away = math.dist(center, (near[0], near[1], _EASY_M))
    return (float(support.clearance_m < _TIGHT_M), drawer, away)


def _height_gap(support: _Support, point_m: Vec3) -> float:
    return round(abs(support.center[2] - point_m[2]), 1)


def _points(
    piece: Furniture, support: _Support, lying: list[tuple[Vec3, Vec3]], near: Vec3, *, deep: bool
) -> list[Spot]:
    """Points on one support, only free ones if there are any, nearest first, well apart.

    In a deep one from the nearest corner on, and also the farthest: a bin is seen only across its
    near rim.
    """
    points = _grid(piece, support)
    free = [point for point in points if not _taken(point, support, lying)]
    # In the middle of a side, the first thing would often be the only one.
    start = min(_corners(piece, support), key=lambda p: math.dist(p[:2], near[:2]))
    towards = start if deep else near
    ordered = sorted(free or points, key=lambda p: math.dist(p[:2], towards[:2]))
    chosen = _apart(ordered, support)
    if deep and math.dist(ordered[-1], chosen[-1].point_m) > _CLEAR_M:
        chosen.append(Spot(ordered[-1], support.part))
    return chosen


def _grid(piece: Furniture, support: _Support) -> list[Vec3]:
    """Points all over one support, in the map."""
    cx, cy, cz = support.center
    axes = []
    for middle, size in zip((cx, cy), support.size, strict=True):
        half = max(0.0, size / 2 - _EDGE_M)
        axes.append(np.linspace(middle - half, middle + half, max(1, round(2 * half / _PITCH_M))))
    return [to_map(piece, (float(x), float(y), cz)) for x in axes[0] for y in axes[1]]


def _corners(piece: Furniture, support: _Support) -> list[Vec3]:
    (x, y, z), (depth, width) = support.center, support.size
    return [
        to_map(piece, (x + a * depth / 2, y + b * width / 2, z)) for a in (-1, 1) for b in (-1, 1)
    ]


def _apart(ordered: Iterable[Vec3], support: _Support) -> list[Spot]:
    chosen: list[Spot] = []
    for point in ordered:
        if all(math.dist(point, spot.point_m) >= APART_M for spot in chosen):
            chosen.append(Spot(point, support.part))
    return chosen


def _taken(point: Vec3, support: _Support, lying: list[tuple[Vec3, Vec3]]) -> bool:
    for position, size in lying:
        if abs(position[2] - point[2]) > max(0.3, support.clearance_m / 2 + 0.05):
            continue
        half = max(size[0], size[1]) / 2
        if math.dist(position[:2], point[:2]) < half + _CLEAR_M:
            return True
    return False
