"""DDAFT: a softmax over failure rates, which every outcome changes (EPM-2.8, eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.training.improvement.sampler import FailureRates, Floats

NAME = "ddaft"


class SoftmaxMode(StrEnum):
    """How a divides: exp(a f), which prefers what fails, or exp(f / a), almost uniform."""

    INVERSE_TEMPERATURE = "inverse_temperature"
    TEMPERATURE = "temperature"


@dataclass(frozen=True, slots=True)
class Ddaft:
    """Prefers the tasks that fail now.

    Attributes:
        alpha: a of the softmax, above 0; the paper's is 3.
        mode: the paper's words fit both, its aim the first.
    """

    alpha: float = 3.0
    mode: SoftmaxMode = SoftmaxMode.INVERSE_TEMPERATURE
    name: str = NAME
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """softmax(a f) or softmax(f / a) of the rates of now (EPM-C38)."""
        inverse = self.mode is SoftmaxMode.INVERSE_TEMPERATURE
        raised = rates.now * self.alpha if inverse else rates.now / self.alpha
        weights = np.exp(raised - raised.max())
        return np.asarray(weights / weights.sum(), np.float64)
