"""DAST: a fixed map from failure rate to frequency, looked up once an iteration (EPM-2.8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.training.improvement.sampler import FailureRates, Floats, normalised

NAME = "dast"
# The paper does not print the map: up to which rate a task is tried how often. Ours.
MAP = ((0.25, 1.0), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0))


@dataclass(frozen=True, slots=True)
class Dast:
    """Difficulty is as old as the iteration.

    Attributes:
        frequencies: highest failure rate and frequency of each class of tasks, in rising order.
    """

    frequencies: tuple[tuple[float, float], ...] = MAP
    name: str = NAME
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """Proportional to the frequencies of the tasks' classes when the iteration began."""
        bounds = np.array([bound for bound, _ in self.frequencies])
        counts = np.array([count for _, count in self.frequencies])
        places = np.searchsorted(bounds, rates.at_start, side="left")
        return normalised(counts[np.minimum(places, len(counts) - 1)])
