"""One thing that is remembered twice: by two of its parts, or after a first wrong class.

In full tours of `heldout_0` and `heldout_4` 21 of the 32 remembered things that did not exist were
of the class of a thing at most 0.18 m away, which was remembered as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from planner.world.entity import Entity
from planner.world.geometry import Vec3

# Of the breadth of a class. Of 335 pairs of things of a class in one shipped house, the middles of
# one pair are nearer.
_SHARE, _LEAST_M = 0.75, 0.08


def apart_m(size_m: Vec3) -> float:
    """The least distance between the middles of two things of this size."""
    return max(_LEAST_M, _SHARE * sorted(size_m)[1])


def is_remembered(class_name: str, size_m: Vec3, center_m: Vec3, things: Sequence[Entity]) -> bool:
    """Whether a remembered thing of the class is so near that it is the same one."""
    limit_m = apart_m(size_m)
    return any(
        thing.class_name == class_name and math.dist(thing.position_m, center_m) < limit_m
        for thing in things
    )


def seen_twice(
    things: Sequence[Entity], matched: set[int], is_known_apart: Callable[[Entity], bool]
) -> list[Entity]:
    """Things that no detection shows while one shows a thing of their class in their place.

    Args:
        things: what is remembered, without what is held.
        matched: numbers of those that detections show.
        is_known_apart: whether more than pictures tells that a thing exists.
    """
    shown = [thing for thing in things if thing.entity_id in matched]
    return [
        thing
        for thing in things
        if thing.entity_id not in matched
        and not is_known_apart(thing)
        and is_remembered(thing.class_name, thing.size_m, thing.position_m, shown)
    ]
