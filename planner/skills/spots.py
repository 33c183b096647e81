"""Where on furniture to try to put an object, according to the belief.

The backend finds the exact free spot around each point; here the points are chosen and ordered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner.skills.ground import to_map
from planner.world.belief import BeliefNode
from planner.world.beside import parts_beside
from planner.world.geometry import Box, Vec3
from planner.world.house import Furniture, Interior
from planner.world.vocabulary import Relation

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
    piece: Furniture,
    support: _Support,
    lying: list[tuple[Vec3, Vec3]],
    near: Vec3,
    *,
    deep: bool,
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
