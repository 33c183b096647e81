"""The floor of one room while it fills with furniture.

Keeps what is taken, what has to stay free and where an agent can still walk,
and finds the best place for the next group: every door and every piece that is
already there stays reachable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label

from planner.houses.groups import Group, Member
from planner.houses.rectangles import Rect
from planner.houses.room_program import Place
from planner.world.floor_grid import CELL_M, WALL_THICKNESS_M
from planner.world.geometry import FloatArray

_GAP_M = 0.03
_WALL_GAP_M = 0.01
_STEP_M = 0.1
_TRIES = 14
# From the middle of an agent to the nearest edge of a piece that it has to serve.
_SERVE_M = 0.9
_SERVE_FRONT_M = 0.9


@dataclass(frozen=True, slots=True)
class DoorMouth:
    """The floor before a door, in this room: kept free, and where an agent comes in."""

    keep: Rect
    inside: tuple[float, float]


class RoomFloor:
    """One room's floor; coordinates are the map's, whose grid of cells starts at (0, 0)."""

    def __init__(self, rect: Rect, mouths: Sequence[DoorMouth], radius_m: float) -> None:
        """Takes the room, its doors and the radius of the widest agent, metres."""
        self.rect = rect
        self.inner = rect.grown(-(WALL_THICKNESS_M / 2 + _WALL_GAP_M))
        self._radius_m = radius_m
        self._mouths = [self._cell(*mouth.inside) for mouth in mouths]
        self._bodies: list[Rect] = []
        self._keep: list[Rect] = [mouth.keep for mouth in mouths]
        self._serve: list[Rect] = []
        rows, columns = round(rect.depth / CELL_M), round(rect.width / CELL_M)
        self._free = np.ones((rows, columns), np.bool_)
        margin = WALL_THICKNESS_M / 2 + radius_m
        edge = int(np.ceil(margin / CELL_M - 0.5))
        inside = np.zeros_like(self._free)
        inside[edge : rows - edge, edge : columns - edge] = True
        self._free &= inside

    def place(self, group: Group, rng: np.random.Generator) -> tuple[Member, ...] | None:
        """Puts the group where it suits best, giving up companions where there is no room.

        Returns:
            The members in the map frame, or None where not even its core fits.
        """
        while True:
            placed = self._place_whole(group, rng)
            if placed is not None or not group.can_shrink:
                return placed
            group = group.shrunk()

    def _place_whole(self, group: Group, rng: np.random.Generator) -> tuple[Member, ...] | None:
        spots = np.concatenate([self._spots(group, turn, rng) for turn in range(4)])
        for cost, x, y, turn in spots[np.argsort(spots[:, 0])][:_TRIES]:
            if not np.isfinite(cost):
                break
            members = tuple(_moved(m, float(x), float(y), int(turn)) for m in group.members)
            if self._accept(members, group.fronts):
                return members
        return None

    def _spots(self, group: Group, turn: int, rng: np.random.Generator) -> FloatArray:
        """(n, 4): cost (infinite where it collides), x, y and turn of candidate origins."""
        turned = [_moved(member, 0.0, 0.0, turn) for member in group.members]
        bodies = _rows([member.body for member in turned])
        fronts = _rows([m.front(d) for m, d in zip(turned, group.fronts, strict=True) if d > 0])
        everything = np.concatenate([bodies, fronts])
        low = np.array([self.inner.x0, self.inner.y0]) - everything[:, :2].min(axis=0)
        high = np.array([self.inner.x1, self.inner.y1]) - everything[:, 2:].max(axis=0)
        if np.any(low > high):
            return np.empty((0, 4))
        origins = self._origins(group.place, turn, low, high)
        shift = np.concatenate([origins, origins], axis=1)[:, None, :]
        taken, keep = _rows(self._bodies), _rows(self._keep)
        grown = taken + np.array([-_GAP_M, -_GAP_M, _GAP_M, _GAP_M])
        clash = _meets(bodies + shift, np.concatenate([grown, keep]))
        if len(fronts):
            clash |= _meets(fronts + shift, taken)
        cost = self._cost(group.place, turn, origins, bodies, low, high)
        cost += rng.uniform(0.0, 0.35, len(cost))
        cost[clash] = np.inf
        return np.column_stack([cost, origins, np.full(len(cost), float(turn))])

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

    def _cost(
        self,
        place: Place,
        turn: int,
        origins: FloatArray,
        bodies: FloatArray,
        low: FloatArray,
        high: FloatArray,
    ) -> FloatArray:
        """How ill each origin suits the kind of place, about 0 to 1."""
        if place is Place.OPEN:
            middle = (low + high) / 2
            reach = np.maximum(high - low, 0.5)
            cost: FloatArray = np.abs((origins - middle) / reach).sum(axis=1) * 0.7
            return cost
        along = 1 if turn % 2 == 0 else 0
        span = max(float(high[along] - low[along]), 1e-6)
        relative = (origins[:, along] - low[along]) / span
        if place is Place.WALL_MIDDLE:
            off_middle: FloatArray = 0.9 * np.abs(relative - 0.5)
            return off_middle
        edges = self._gaps(origins, bodies, along)
        snug = np.where(edges < 0.08, 0.0, np.where(edges < 0.5, 0.5, 0.3))
        if place is Place.CORNER:
            snug = snug + np.minimum(relative, 1 - relative)
        wanted: FloatArray = snug
        return wanted

    def _gaps(self, origins: FloatArray, bodies: FloatArray, along: int) -> FloatArray:
        """The narrower of the gaps left and right of a group to the next piece or wall."""
        low = bodies[:, along].min() + origins[:, along]
        high = bodies[:, along + 2].max() + origins[:, along]
        inner = (self.inner.x0, self.inner.y0, self.inner.x1, self.inner.y1)
        taken = _rows(self._bodies)
        across = 1 - along
        back = bodies[:, across].min() + origins[0, across]
        front = bodies[:, across + 2].max() + origins[0, across]
        level = taken[(taken[:, across] < front) & (taken[:, across + 2] > back)]
        before = low[:, None] - np.append(level[:, along + 2], inner[along])
        after = np.append(level[:, along], inner[along + 2]) - high[:, None]
        before = np.where(before < -1e-6, np.inf, before).min(axis=1)
        after = np.where(after < -1e-6, np.inf, after).min(axis=1)
        gaps: FloatArray = np.minimum(before, after)
        return gaps

    def _accept(self, members: Sequence[Member], fronts: Sequence[float]) -> bool:
        """Takes the members in where everything stays reachable."""
        free = self._free.copy()
        bodies = [member.body for member in members]
        for body in bodies:
            free[self._cells(body.grown(self._radius_m))] = False
        serve = [
            (m.front(_SERVE_FRONT_M) if depth else m.body).grown(0.1 if depth else _SERVE_M)
            for m, depth in zip(members, fronts, strict=True)
        ]
        if not self._all_served(free, [*self._serve, *serve]):
            return False
        self._free = free
        self._serve += serve
        self._bodies += bodies
        self._keep += [m.front(d) for m, d in zip(members, fronts, strict=True) if d > 0]
        return True

    def _all_served(self, free: NDArray[np.bool_], serve: Sequence[Rect]) -> bool:
        labels, _ = label(free)
        doors = {int(labels[cell]) for cell in self._mouths}
        if len(doors) != 1 or 0 in doors:
            return False
        walkable = np.asarray(labels) == doors.pop()
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


def _moved(member: Member, x: float, y: float, turn: int) -> Member:
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[turn % 4]
    return replace(
        member,
        x_m=round(x + member.x_m * c - member.y_m * s, 4),
        y_m=round(y + member.x_m * s + member.y_m * c, 4),
        turn=(member.turn + turn) % 4,
    )


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
    found: NDArray[np.bool_] = overlap.any(axis=(1, 2))
    return found
