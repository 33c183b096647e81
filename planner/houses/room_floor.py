"""The floor of one room while furniture is chosen for it and placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from planner.houses.groups import Group, GroupMaker, Member
from planner.houses.room_program import Place, Rect, RoomRule
from planner.world.floor_grid import CELL_M, WALL_THICKNESS_M
from planner.world.geometry import FloatArray

_GAP_M = 0.03
_WALL_GAP_M = 0.01
_STEP_M = 0.1
_TRIES = 14
# From the middle of an agent to what it must reach, along each axis of the map.
_SERVE_M = 0.85
# Source and sign of x0, y0, x1 and y1 of a rotated rectangle.
_QUARTER_TURNS = (
    ([0, 1, 2, 3], np.array([1.0, 1.0, 1.0, 1.0])),
    ([3, 0, 1, 2], np.array([-1.0, 1.0, -1.0, 1.0])),
    ([2, 3, 0, 1], np.array([-1.0, -1.0, -1.0, -1.0])),
    ([1, 2, 3, 0], np.array([1.0, -1.0, 1.0, -1.0])),
)


@dataclass(frozen=True, slots=True)
class DoorMouth:
    """The floor at a door, in this room: kept free, and where an agent enters."""

    keep: Rect
    inside: tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Spots:
    """Candidate positions for a group, one per row.

    Attributes:
        turns: (n,) quarter turns.
        origins: (n, 2) the group's origin in the map, metres.
        relative: (n, 2) its position between the outermost origins, 0 to 1.
        bodies: (n, k, 4) footprints in the map.
        fronts: (n, f, 4) floor to keep free in the map.
    """

    turns: NDArray[np.intp]
    origins: FloatArray
    relative: FloatArray
    bodies: FloatArray
    fronts: FloatArray

    @staticmethod
    def joined(parts: Sequence[_Spots], bodies: int, fronts: int) -> _Spots:
        """All parts' rows in order, padded to `bodies` and `fronts` columns."""
        return _Spots(
            np.concatenate([np.empty(0, np.intp), *(p.turns for p in parts)]),
            np.concatenate([np.empty((0, 2)), *(p.origins for p in parts)]),
            np.concatenate([np.empty((0, 2)), *(p.relative for p in parts)]),
            np.concatenate([np.empty((0, bodies, 4)), *(p.bodies for p in parts)]),
            np.concatenate([np.empty((0, fronts, 4)), *(p.fronts for p in parts)]),
        )


class RoomFloor:
    """One room's floor; coordinates are the map's, whose grid of cells starts at (0, 0)."""

    def __init__(self, rect: Rect, mouths: Sequence[DoorMouth], radius_m: float) -> None:
        """`mouths` are the room's doors; `radius_m` that of the widest agent."""
        self.rect = rect
        self.inner = rect.grown(-(WALL_THICKNESS_M / 2 + _WALL_GAP_M))
        self._radius_m = radius_m
        self._mouths = [self._cell(*mouth.inside) for mouth in mouths]
        self._taken = _rows([])
        self._keep = _rows([mouth.keep for mouth in mouths])
        self._serve: list[Rect] = []
        rows, columns = round(rect.depth / CELL_M), round(rect.width / CELL_M)
        self._free = np.ones((rows, columns), np.bool_)
        margin = WALL_THICKNESS_M / 2 + radius_m
        edge = int(np.ceil(margin / CELL_M - 0.5))
        inside = np.zeros_like(self._free)
        inside[edge : rows - edge, edge : columns - edge] = True
        self._free &= inside

    def place(self, group: Group, rng: np.random.Generator) -> tuple[Member, ...] | None:
        """Places the group where it suits best, dropping companions if there is no room.

        Returns:
            The members in the map frame, or None if not even its core fits.
        """
        while True:
            placed = self._place_whole(group, rng)
            if placed is not None or not group.can_shrink:
                return placed
            group = group.shrunk()

    def _place_whole(self, group: Group, rng: np.random.Generator) -> tuple[Member, ...] | None:
        spots = self._spots(group)
        if not len(spots.turns):
            return None
        grown = self._taken + np.array([-_GAP_M, -_GAP_M, _GAP_M, _GAP_M])
        clash = _meets(spots.bodies, np.concatenate([grown, self._keep]))
        clash |= _meets(spots.fronts, self._taken)
        cost = self._cost(group.place, spots) + rng.uniform(0.0, 0.35, len(clash))
        free = np.flatnonzero(~clash)
        for i in free[np.argsort(cost[free])][:_TRIES]:
            x, y = float(spots.origins[i, 0]), float(spots.origins[i, 1])
            members = tuple(_moved(m, x, y, int(spots.turns[i])) for m in group.members)
            if self._accept(members, group.fronts):
                return members
        return None

    def _spots(self, group: Group) -> _Spots:
        """All origins and rotations that keep the group inside the room, ignoring obstacles."""
        bodies = _rows([member.body for member in group.members])
        fronts = _rows(
            [m.front(d) for m, d in zip(group.members, group.fronts, strict=True) if d > 0]
        )
        parts = []
        for turn in range(4):
            turned, ahead = _turned(bodies, turn), _turned(fronts, turn)
            everything = np.concatenate([turned, ahead])
            low = np.array([self.inner.x0, self.inner.y0]) - everything[:, :2].min(axis=0)
            high = np.array([self.inner.x1, self.inner.y1]) - everything[:, 2:].max(axis=0)
            if np.any(low > high):
                continue
            origins = self._origins(group.place, turn, low, high)
            shift = np.concatenate([origins, origins], axis=1)[:, None, :]
            span = np.maximum(high - low, 1e-6)
            parts.append(
                _Spots(
                    np.full(len(origins), turn),
                    origins,
                    (origins - low) / span,
                    turned + shift,
                    ahead + shift,
                )
            )
        return _Spots.joined(parts, len(bodies), len(fronts))

    def _origins(self, place: Place, turn: int, low: FloatArray, high: FloatArray) -> FloatArray:
        if place is Place.OPEN:
            xs, ys = (np.arange(a, b + 1e-9, 2 * _STEP_M) for a, b in zip(low, high, strict=True))
            grid = np.meshgrid(xs, ys)
            return np.column_stack([grid[0].ravel(), grid[1].ravel()])
        along = 1 if turn % 2 == 0 else 0
        steps = np.append(np.arange(low[along], high[along], _STEP_M), high[along])
        origins = np.empty((len(steps), 2))
        origins[:, along] = steps
        wall = (self.inner.x0, self.inner.y0, self.inner.x1, self.inner.y1)[turn % 4]
        origins[:, 1 - along] = wall
        return origins

    def _cost(self, place: Place, spots: _Spots) -> FloatArray:
        """How badly each candidate suits the kind of place, about 0 to 1."""
        if place is Place.OPEN:
            cost: FloatArray = np.abs(spots.relative - 0.5).sum(axis=1) * 0.9
            return cost
        relative = np.where(spots.turns % 2 == 0, spots.relative[:, 1], spots.relative[:, 0])
        if place is Place.WALL_MIDDLE:
            off_middle: FloatArray = 0.9 * np.abs(relative - 0.5)
            return off_middle
        gaps = self._gaps(spots)
        snug: FloatArray = np.where(gaps < 0.08, 0.0, np.where(gaps < 0.5, 0.5, 0.3))
        if place is Place.CORNER:
            snug += np.minimum(relative, 1 - relative)
        return snug

    def _gaps(self, spots: _Spots) -> FloatArray:
        """The smaller of the gaps along the wall to the next piece or corner, metres."""
        boxes = np.concatenate(
            [spots.bodies[:, :, :2].min(axis=1), spots.bodies[:, :, 2:].max(axis=1)], axis=1
        )
        inner = np.array([(self.inner.x0, self.inner.y0, self.inner.x1, self.inner.y1)])
        gaps = np.full(len(boxes), np.inf)
        for along in (0, 1):
            here = (spots.turns % 2 == 1) == (along == 0)
            box, across = boxes[here], 1 - along
            level = (self._taken[None, :, across] < box[:, None, across + 2]) & (
                self._taken[None, :, across + 2] > box[:, None, across]
            )
            before = box[:, None, along] - self._taken[None, :, along + 2]
            after = self._taken[None, :, along] - box[:, None, along + 2]
            between = np.where(level & (np.maximum(before, after) > -1e-6), before, np.inf)
            between = np.where(level & (after > -1e-6), after, between)
            walls = np.minimum(
                box[:, along] - inner[0, along], inner[0, along + 2] - box[:, along + 2]
            )
            gaps[here] = np.minimum(walls, between.min(axis=1, initial=np.inf))
        return gaps

    def _accept(self, members: Sequence[Member], fronts: Sequence[float]) -> bool:
        """Adds the members if everything stays reachable."""
        free = self._free.copy()
        bodies = [member.body for member in members]
        for body in bodies:
            free[self._cells(body.grown(self._radius_m))] = False
        serve = [
            rect
            for member, depth in zip(members, fronts, strict=True)
            for rect in _serving(member, depth)
        ]
        if not self._all_served(free, [*self._serve, *serve]):
            return False
        self._free = free
        self._serve += serve
        self._taken = np.concatenate([self._taken, _rows(bodies)])
        kept = [m.front(d) for m, d in zip(members, fronts, strict=True) if d > 0]
        self._keep = np.concatenate([self._keep, _rows(kept)])
        return True

    def _all_served(self, free: NDArray[np.bool_], serve: Sequence[Rect]) -> bool:
        _, labels = cv2.connectedComponents(free.view(np.uint8), connectivity=4)
        doors = {int(labels[cell]) for cell in self._mouths}
        if len(doors) != 1 or 0 in doors:
            return False
        walkable = np.asarray(labels == doors.pop(), dtype=np.bool_)
        return all(bool(walkable[self._cells(rect)].any()) for rect in serve)

    def _cell(self, x: float, y: float) -> tuple[int, int]:
        rows, columns = round(self.rect.depth / CELL_M), round(self.rect.width / CELL_M)
        row, column = int((y - self.rect.y0) / CELL_M), int((x - self.rect.x0) / CELL_M)
        return min(max(row, 0), rows - 1), min(max(column, 0), columns - 1)

    def _cells(self, rect: Rect) -> tuple[slice, slice]:
        """The cells whose middle lies in a rectangle."""
        bounds = []
        for low, high, origin in (
            (rect.y0, rect.y1, self.rect.y0),
            (rect.x0, rect.x1, self.rect.x0),
        ):
            first = max(0, int(np.ceil((low - origin) / CELL_M - 0.5)))
            bounds.append(slice(first, max(first, int(np.floor((high - origin) / CELL_M + 0.5)))))
        return bounds[0], bounds[1]


def door_mouth(
    room: Rect, center_m: tuple[float, float], horizontal: bool, width_m: float, depth_m: float
) -> DoorMouth:
    """The floor that a door needs inside a room, `depth_m` deep and a little wider than it."""
    half = width_m / 2 + 0.05
    x, y = center_m
    if horizontal:
        up = abs(room.y0 - y) < 1e-6
        keep = (
            Rect(x - half, y, x + half, y + depth_m)
            if up
            else Rect(x - half, y - depth_m, x + half, y)
        )
        return DoorMouth(keep, (x, y + (0.45 if up else -0.45)))
    right = abs(room.x0 - x) < 1e-6
    keep = (
        Rect(x, y - half, x + depth_m, y + half)
        if right
        else Rect(x - depth_m, y - half, x, y + half)
    )
    return DoorMouth(keep, (x + (0.45 if right else -0.45), y))


def _serving(member: Member, front_m: float) -> list[Rect]:
    """Rectangles; in each, an agent must be able to stand in order to use the piece."""
    rects = [rect.grown(_SERVE_M) for rect in member.touched] or [member.body.grown(_SERVE_M)]
    if front_m and member.opens:
        rects.append(member.front(_SERVE_M).grown(0.1))
    return rects


def _moved(member: Member, x: float, y: float, turn: int) -> Member:
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[turn % 4]
    return replace(
        member,
        x_m=round(x + member.x_m * c - member.y_m * s, 4),
        y_m=round(y + member.x_m * s + member.y_m * c, 4),
        turn=(member.turn + turn) % 4,
    )


def _turned(rects: FloatArray, turn: int) -> FloatArray:
    """(k, 4) rectangles rotated by quarter turns about the origin."""
    columns, signs = _QUARTER_TURNS[turn % 4]
    turned: FloatArray = rects[:, columns] * signs
    return turned


def _rows(rects: Sequence[Rect]) -> FloatArray:
    rows = np.array([(r.x0, r.y0, r.x1, r.y1) for r in rects], dtype=np.float64)
    return rows.reshape(-1, 4)


def _meets(moving: FloatArray, fixed: FloatArray) -> NDArray[np.bool_]:
    """(n,): whether any of the (n, k, 4) rectangles overlaps any of the (m, 4)."""
    a, b = moving[:, :, None, :], fixed[None, None, :, :]
    overlap = (
        (a[..., 0] < b[..., 2] - 1e-9)
        & (b[..., 0] < a[..., 2] - 1e-9)
        & (a[..., 1] < b[..., 3] - 1e-9)
        & (b[..., 1] < a[..., 3] - 1e-9)
    )
    return np.asarray(overlap.any(axis=(1, 2)), dtype=np.bool_)


# Chooses furniture for a room and places it.

# Floor area per area of the groups: passages, doors, corners that stay empty.
_SPARE_ESSENTIAL = 1.5
_SPARE_OTHER = 0.6
_DOORS_M2 = 2.0


@dataclass(frozen=True, slots=True)
class Furnishing:
    """The furniture groups for one room, in the order in which they are placed."""

    groups: tuple[Group, ...]

    @property
    def area_m2(self) -> float:
        """The floor area that the groups are likely to need."""
        needs = (
            g.floor_m2 * (_SPARE_ESSENTIAL if g.essential else _SPARE_OTHER) for g in self.groups
        )
        return _DOORS_M2 + sum(needs)


def draw_furnishing(
    rule: RoomRule, required: Mapping[str, int], maker: GroupMaker, rng: np.random.Generator
) -> Furnishing:
    """Draws a room's furniture by its rules; `required` (class to number) is essential."""
    groups: list[Group] = []
    for group_rule in rule.groups:
        number = int(rng.integers(group_rule.count[0], group_rule.count[1] + 1))
        groups += [
            maker.make(group_rule)
            for _ in range(number)
            if group_rule.essential or rng.random() < group_rule.chance
        ]
    missing = Counter(dict(required))
    for index, group in enumerate(groups):
        held = Counter(member.class_name for member in group.members)
        if any(missing[name] > 0 for name in held):
            groups[index] = replace(group, core=len(group.members), essential=True)
            missing -= held
        elif group.essential:
            missing -= Counter(m.class_name for m in group.members[: group.core])
    for class_name, number in missing.items():
        groups += [maker.single(class_name) for _ in range(number)]
    # Large and essential groups first; the others fill the gaps.
    groups.sort(key=lambda group: (not group.essential, -group.floor_m2))
    return Furnishing(tuple(groups))


def furnish(
    floor: RoomFloor, furnishing: Furnishing, maker: GroupMaker, rng: np.random.Generator
) -> tuple[Member, ...] | None:
    """Places the groups; non-essential ones are left out if they do not fit.

    Returns:
        The pieces in the map frame, or None if an essential group does not fit.
    """
    placed: list[Member] = []
    for group in furnishing.groups:
        for part in _place(floor, group, maker, rng):
            if part is None:
                return None
            placed += part
    return tuple(placed)


def _place(
    floor: RoomFloor, group: Group, maker: GroupMaker, rng: np.random.Generator
) -> Sequence[Sequence[Member] | None]:
    members = floor.place(group, rng)
    if members is not None:
        return [members]
    if group.is_run:
        return [part for half in maker.split(group) for part in _place(floor, half, maker, rng)]
    if group.place is not Place.WALL:
        members = floor.place(group.at_wall(), rng)
        if members is not None:
            return [members]
    return [None] if group.essential else []
