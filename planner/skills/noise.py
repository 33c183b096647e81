"""Oracle skills with noise: what a body would do that is not perfect."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult

if TYPE_CHECKING:
    from planner.skills.attempt import Attempt, Motion


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """How often and how far primitives go wrong; PARTNR names the cases, not how often.

    Attributes:
        lost: share of walks that end before they begin.
        off_m: standard deviation of where walks end, along each axis.
        missed: share of picks whose grasp fails.
        dropped: share of places that do not release.
        stuck: share of furniture that does not open or close.
    """

    lost: float = 0.05
    off_m: float = 0.1
    missed: float = 0.15
    dropped: float = 0.1
    stuck: float = 0.05

    def times(self, factor: float) -> NoiseModel:
        """All of it by a factor; shares are at most 1."""
        return NoiseModel(
            lost=min(1.0, self.lost * factor),
            off_m=self.off_m * factor,
            missed=min(1.0, self.missed * factor),
            dropped=min(1.0, self.dropped * factor),
            stuck=min(1.0, self.stuck * factor),
        )


class NoisyPrimitives:
    """Lets some primitives fail; the same seed, agent and calls give the same failures."""

    def __init__(self, agent: str, factor: float, seed: int) -> None:
        """`factor` scales the shipped `NoiseModel`; 0 is no noise."""
        self._model = NoiseModel().times(factor)
        self._rng = np.random.default_rng([seed, zlib.crc32(agent.encode())])

    def carry_out(self, attempt: Attempt, primitive: Primitive, phase: str) -> Motion:
        """See `planner.skills.kind.Mover`."""
        name, model, rng = primitive.name, self._model, self._rng
        # Drawn each time, so that a failure does not depend on those before.
        chance = float(rng.random())
        dx, dy = (float(value) for value in rng.normal(0.0, 1.0, 2) * model.off_m)
        failing: dict[str, tuple[float, PrimitiveCode, str]] = {
            PrimitiveName.NAVIGATE: (model.lost, PrimitiveCode.BLOCKED, "the walk was lost"),
            PrimitiveName.PICK: (model.missed, PrimitiveCode.GRASP_FAILED, "the grasp slipped"),
            PrimitiveName.PLACE: (
                model.dropped,
                PrimitiveCode.GRASP_FAILED,
                "the thing was not released",
            ),
            PrimitiveName.OPEN: (model.stuck, PrimitiveCode.BLOCKED, "it is stuck"),
            PrimitiveName.CLOSE: (model.stuck, PrimitiveCode.BLOCKED, "it is stuck"),
        }
        share, code, text = failing.get(name, (0.0, PrimitiveCode.SUCCESS, ""))
        if chance < share:
            attempt.end_if_canceled()
            return PrimitiveResult(code, text)
        if name == PrimitiveName.NAVIGATE:
            x, y, z = primitive.target_m
            moved = (x + dx, y + dy, z)
            grid = attempt.scene.ground.grid
            # On free floor alone: elsewhere the target is what is to be in view.
            if grid.is_free(x, y) and grid.is_free(*moved[:2]):
                primitive = replace(primitive, target_m=moved)
        return (yield from attempt.carry_out(primitive, phase))
