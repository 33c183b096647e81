"""What the algorithms differ in: which task is tried next, and by which policy (EPM-2.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The failure rate of each task, (tasks,) in [0, 1] (EPM-2.8, eq. 2).

    Attributes:
        first: after the first pass, in which every task was tried by the first policy.
        at_start: when this iteration began.
        now: with the outcomes of this iteration.
    """

    first: Floats
    at_start: Floats
    now: Floats


class Sampler(Protocol):
    """One algorithm."""

    @property
    def name(self) -> str:
        """Of the algorithm."""

    @property
    def tries_first_policy(self) -> bool:
        """Whether all traces are the first policy's, rather than the iteration's."""

    def probabilities(self, rates: FailureRates) -> Floats:
        """The probability of each task to be tried next, (tasks,); sums to one."""


def normalised(weights: Floats) -> Floats:
    """Weights as probabilities; equal ones if all weights are zero."""
    total = float(weights.sum())
    if total <= 0:
        return np.full(weights.shape, 1 / len(weights))
    return np.asarray(weights / total, np.float64)
