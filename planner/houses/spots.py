"""Places for objects: every surface and interior of a house, and what already lies there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.receptacle import known_shape
from planner.world.vocabulary import Relation

GAP_M = 0.01
# Of what is open at its top.
OPEN_M = 1.0
_EDGE_M = 0.012
_SAMPLES = 24
_KEPT = 6


@dataclass(slots=True)
class Spot:
    """One surface or interior of furniture or of a thing.

    Attributes:
        owner: the name of the furniture or thing.
        frame: its frame as [x, y, z, yaw] of the map.
        center: middle of the spot's floor in that frame, metres.
        half: half extents along the frame's x and y, metres.
        headroom_m: the height of the tallest thing that fits.
        taken: (x0, y0, x1, y1) in that frame of what lies there.
    """

    owner: str
    frame: tuple[float, float, float, float]
    part: str
    relation: Relation
    center: Vec3
    half: tuple[float, float]
    headroom_m: float
    taken: list[tuple[float, float, float, float]] = field(default_factory=list)

    @property
    def crowding(self) -> float:
        """The share of the spot's floor that is occupied."""
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.taken)
        return area / (4 * self.half[0] * self.half[1])

    def candidates(self, size_m: Vec3, rng: np.random.Generator) -> list[tuple[float, ...]]:
        """Free poses for a thing of this size as (x, y, yaw) in the spot's frame.

        At most a few, those far from other objects first; empty if it does not fit.
        """
        if size_m[2] > self.headroom_m - GAP_M:
            return []
        turns = math.pi / 2 * rng.integers(0, 4, _SAMPLES) + rng.normal(0.0, 0.18, _SAMPLES)
        # Include axis-aligned poses: in a narrow drawer nothing else fits.
        turns[: _SAMPLES // 3] = math.pi / 2 * rng.integers(0, 2, _SAMPLES // 3)
        turns = np.round(turns, 4)
        c, s = np.abs(np.cos(turns)), np.abs(np.sin(turns))
        hx = (size_m[0] * c + size_m[1] * s) / 2
        hy = (size_m[0] * s + size_m[1] * c) / 2
        room_x, room_y = self.half[0] - _EDGE_M - hx, self.half[1] - _EDGE_M - hy
        fits = (room_x >= 0) & (room_y >= 0)
        x = np.round(self.center[0] + rng.uniform(-1, 1, _SAMPLES) * room_x, 4)
        y = np.round(self.center[1] + rng.uniform(-1, 1, _SAMPLES) * room_y, 4)
        gaps = self._gaps(x, y, hx, hy)
        fits &= gaps >= GAP_M
        chosen = np.flatnonzero(fits)[:_KEPT]
        chosen = chosen[np.argsort(-np.minimum(gaps[chosen], 0.25), kind="stable")]
        return [(float(x[i]), float(y[i]), float(turns[i])) for i in chosen]

    def _gaps(self, x: FloatArray, y: FloatArray, hx: FloatArray, hy: FloatArray) -> FloatArray:
        """(n,) distance from each candidate to the nearest object; negative if they overlap."""
        if not self.taken:
            return np.full(len(x), 1.0)
        taken = np.array(self.taken)
        dx = np.maximum(taken[:, 0] - (x + hx)[:, None], (x - hx)[:, None] - taken[:, 2])
        dy = np.maximum(taken[:, 1] - (y + hy)[:, None], (y - hy)[:, None] - taken[:, 3])
        gaps: FloatArray = np.maximum(dx, dy).min(axis=1)
        return gaps

    def take(self, x: float, y: float, yaw: float, size_m: Vec3) -> None:
        """Marks the floor under a thing, given in the spot's frame, as taken."""
        c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
        hx, hy = (size_m[0] * c + size_m[1] * s) / 2, (size_m[0] * s + size_m[1] * c) / 2
        self.taken.append((x - hx, y - hy, x + hx, y + hy))

    def in_map(self, x: float, y: float, yaw: float) -> tuple[float, float, float, float]:
        """A pose of the spot's frame as [x, y, z, yaw] of the map."""
        x0, y0, z0, yaw0 = self.frame
        c, s = math.cos(yaw0), math.sin(yaw0)
        turned = math.remainder(yaw + yaw0, math.tau)
        return (
            round(x0 + x * c - y * s, 4),
            round(y0 + x * s + y * c, 4),
            round(z0 + self.center[2], 4),
            round(turned, 4),
        )

    def from_map(self, placement: ObjectPlacement) -> tuple[float, float, float]:
        """(x, y, yaw) of a placement in the spot's frame."""
        x0, y0, _, yaw0 = self.frame
        c, s = math.cos(yaw0), math.sin(yaw0)
        dx, dy = placement.pose[0] - x0, placement.pose[1] - y0
        return dx * c + dy * s, dy * c - dx * s, placement.pose[3] - yaw0


def spots_of(house: House, taken: Iterable[ObjectPlacement] = ()) -> dict[str, list[Spot]]:
    """All spots by the name of the furniture or thing, with what lies there marked."""
    spots = {piece.name: list(_spots(piece)) for piece in house.furniture}
    taken = tuple(taken)
    for placement in taken:
        of_thing = spots_of_thing(placement)
        if of_thing:
            spots[placement.name] = of_thing
    for placement in taken:
        for spot in spots.get(placement.parent, ()):
            if spot.part == placement.part:
                spot.take(*spot.from_map(placement), placement.size_m)
    return spots


def spots_of_thing(thing: ObjectPlacement) -> list[Spot]:
    """The hollow and the top of a thing, as far as its class has them."""
    shape, found = known_shape(thing.class_name, thing.size_m), []
    if shape.top is not None:
        found.append((shape.top.name, Relation.ON, shape.top.center, shape.top.size))
    if shape.hollow is not None:
        (x, y, z), (depth, width, height) = shape.hollow.center, shape.hollow.size
        bottom = (x, y, z - height / 2)
        found.append((shape.hollow.name, Relation.WITHIN, bottom, (depth, width)))
    return [
        Spot(thing.name, thing.pose, part, relation, at, (size[0] / 2, size[1] / 2), OPEN_M)
        for part, relation, at, size in found
    ]


def _spots(piece: Furniture) -> Sequence[Spot]:
    frame = (piece.x_m, piece.y_m, 0.0, piece.yaw_rad)
    on = [
        Spot(
            piece.name,
            frame,
            s.name,
            Relation.ON,
            s.center,
            (s.size[0] / 2, s.size[1] / 2),
            s.clearance,
        )
        for s in piece.surfaces
    ]
    within = [
        Spot(
            piece.name,
            frame,
            i.name,
            Relation.WITHIN,
            (i.center[0], i.center[1], round(i.center[2] - i.size[2] / 2, 4)),
            (i.size[0] / 2, i.size[1] / 2),
            i.size[2],
        )
        for i in piece.interiors
    ]
    return [*on, *within]
