"""What a seen thing rests on, forgiving of a few centimetres where the eye was off."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.memory.support import Support, support_of
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.vocabulary import floor_name

# How far beside its place a thing may rest in truth, in rings, and how far above or below.
_RINGS_M, _DIRECTIONS = (0.0, 0.08, 0.16, 0.25), 8
_HEIGHTS_M = (0.02, 0.1, -0.05)


def anchor(layout: House, center_m: Vec3, size_m: Vec3, openness: Mapping[str, float]) -> Support:
    """The support of a thing of which the middle of its box was seen.

    The point of its underside is tried first, then points ever farther from it; what lies on
    none of them in a room is said to lie on that room's floor where it is low enough.
    """
    x, y, z = center_m
    under = z - size_m[2] / 2
    fallback = support_of(layout, (x, y, max(0.0, under)), None, openness)
    for point in _nearby((x, y, under)):
        found = support_of(layout, point, None, openness)
        if found.parent is not None and not found.parent.startswith("floor_"):
            return found
    if fallback.parent is not None or fallback.room is None or under > 0.3:
        return fallback
    return support_of(layout, (x, y, 0.0), floor_name(fallback.room), openness)


def _nearby(point_m: Vec3) -> Iterator[Vec3]:
    x, y, z = point_m
    for ring in _RINGS_M:
        for height in _HEIGHTS_M:
            for turn in range(_DIRECTIONS if ring else 1):
                angle = 2 * math.pi * turn / _DIRECTIONS
                yield (x + ring * math.cos(angle), y + ring * math.sin(angle), max(0.0, z + height))
