"""Which parts of furniture can hold a thing next to other furniture (PARTNR-D8).

Two boxes are next to each other if they overlap in height and their footprints are close, so that
what stands on a worktop can be next to the sink beside it, but not next to a lower dishwasher.
"""

from __future__ import annotations

import math

from planner.world.geometry import Box, Vec3
from planner.world.house import Furniture
from planner.world.vocabulary import Relation


def parts_beside(
    piece: Furniture, relation: Relation, reference: Furniture, within_m: float
) -> frozenset[str]:
    """The surfaces (on) or hollows (within) from which a thing can be next to a reference.

    Args:
        piece: the furniture that holds the thing.
        relation: on or within.
        reference: other furniture, or the same.
        within_m: maximum horizontal gap between the thing and the reference.
    """
    box = reference.box
    return frozenset(
        name
        for name, center, size in _parts(piece, relation)
        if box.minimum_m[2] <= center[2] <= box.maximum_m[2]
        and _in_map(piece, center, size).horizontal_gap_m(box) <= within_m
    )


def _parts(piece: Furniture, relation: Relation) -> list[tuple[str, Vec3, tuple[float, float]]]:
    """Name, middle of the bottom, and extent of each surface or hollow, in the piece's frame."""
    if relation is Relation.ON:
        return [(s.name, s.center, s.size) for s in piece.surfaces]
    found = []
    for hollow in piece.interiors:
        (x, y, z), (depth, width, height) = hollow.center, hollow.size
        found.append((hollow.name, (x, y, z - height / 2), (depth, width)))
    return found


def _in_map(piece: Furniture, center: Vec3, size: tuple[float, float]) -> Box:
    """The flat box around a part; axis-aligned, in the map."""
    x, y, z = center
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    middle = (piece.x_m + x * c - y * s, piece.y_m + x * s + y * c, z)
    return Box.around(middle, (*size, 0.0), piece.yaw_rad)
