"""DART-Math: frequencies linear in a difficulty that is estimated once (EPM-2.8)."""

from __future__ import annotations

from dataclasses import dataclass

from planner.training.improvement.sampler import FailureRates, Floats, normalised

NAME = "dart-math"


@dataclass(frozen=True, slots=True)
class DartMath:
    """A fixed distribution, and a set of traces that are all the first policy's."""

    name: str = NAME
    tries_first_policy: bool = True

    def probabilities(self, rates: FailureRates) -> Floats:
        """Proportional to the failure rates of the first pass; uniform if nothing failed there."""
        return normalised(rates.first)
