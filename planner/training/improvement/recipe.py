"""The numbers of policy improvement (EPM-2.8, EPM-T8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from planner.training.improvement.sampler import (
    DART_MATH,
    DAST,
    DDAFT,
    ONLINE_RFT,
    DartMath,
    Dast,
    Ddaft,
    OnlineRft,
    Sampler,
    SoftmaxMode,
)
from planner.world.errors import PlannerError
from planner.world.files import FileModel

Count = Annotated[int, Field(ge=1)]


class ImprovementRecipe(FileModel):
    """One run of one algorithm; EPM-T8's numbers, and what it leaves out, which is ours.

    Attributes:
        algorithm: one of `ALGORITHMS`.
        iterations: each fits a policy and tries tasks with it.
        samples: roll-outs of an iteration.
        first_rounds: how often each task is tried in the first pass; 0 = the algorithm's own:
            once for DDAFT and Online-RFT, five times for those that estimate difficulty there.
        alpha, softmax_mode: of DDAFT.
        in_flight: roll-outs drawn before their outcomes are known, at most. Ours.
        evaluation_rounds: how often each held-out task is tried with each policy. Ours.
        seed: of the draws. Ours.
    """

    algorithm: str = DDAFT
    iterations: Count = 5
    samples: Count = 2000
    first_rounds: Annotated[int, Field(ge=0)] = 0
    alpha: Annotated[float, Field(gt=0)] = 3.0
    softmax_mode: SoftmaxMode = SoftmaxMode.INVERSE_TEMPERATURE
    in_flight: Count = 8
    evaluation_rounds: Count = 1
    seed: Annotated[int, Field(ge=0)] = 1

    @property
    def sampler(self) -> Sampler:
        """The algorithm.

        Raises:
            PlannerError: if there is none of this name.
        """
        make = ALGORITHMS.get(self.algorithm)
        if make is None:
            raise PlannerError(
                f"there is no algorithm {self.algorithm!r}: name {', '.join(ALGORITHMS)}"
            )
        return make(self)

    @property
    def rounds(self) -> int:
        """How often each task is tried in the first pass."""
        return self.first_rounds or _ROUNDS.get(self.algorithm, 1)


ALGORITHMS: Mapping[str, Callable[[ImprovementRecipe], Sampler]] = {
    DDAFT: lambda recipe: Ddaft(recipe.alpha, recipe.softmax_mode),
    ONLINE_RFT: lambda _: OnlineRft(),
    DART_MATH: lambda _: DartMath(),
    DAST: lambda _: Dast(),
}
# 10,000 roll-outs of 2,000 tasks.
_ROUNDS: Mapping[str, int] = {DART_MATH: 5, DAST: 5}
