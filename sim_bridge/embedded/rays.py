"""Ray casting, which the rules of reach and sight need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from planner.world.geometry import Vec3

# A hit this near to a point is the point itself.
NEAR_M = 0.02


class Rays(Protocol):
    """Rays through the current world, in the map frame."""

    def first_hit(self, origin_m: Vec3, towards_m: Vec3) -> tuple[int, float]:
        """The first instance that a ray hits, and its distance; (-1, inf) for none.

        Agents, what they hold and ceilings are transparent; 0 is structure.
        """

    def sees(self, origin_m: Vec3, points_m: Iterable[Vec3], instances: frozenset[int]) -> bool:
        """Whether any point is in view: nothing, or one of `instances`, is hit before it."""
