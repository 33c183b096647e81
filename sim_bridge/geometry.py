"""What a simulator can be asked about its geometry, for judges other than our evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from planner.world.geometry import Vec3


@dataclass(frozen=True, slots=True)
class Ray:
    """A ray in `map`; `direction` has the length 1."""

    origin_m: Vec3
    direction: Vec3


@runtime_checkable
class GeometrySource(Protocol):
    """A backend whose geometry can be asked."""

    @property
    def floor_step_m(self) -> float:
        """Resolution of the floor's height; 0 if it is exact."""

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
        """The furniture and things that each ray enters within a distance, nearest first.

        A body that contains a ray's origin is not entered. Structure and agents are not reported.

        Raises:
            PlannerError: if no episode is loaded, or the simulator does not answer.
        """

    def off_floor_m(self, x_m: float, y_m: float) -> float:
        """Horizontal distance of a point to the nearest floor on which a robot's middle may be."""
