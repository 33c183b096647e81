"""Online-RFT: all tasks alike; only the policy changes (EPM-2.8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.training.improvement.sampler import FailureRates, Floats

NAME = "online-rft"


@dataclass(frozen=True, slots=True)
class OnlineRft:
    """Knows nothing of difficulty."""

    name: str = NAME
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """Equal ones."""
        return np.full(rates.now.shape, 1 / len(rates.now))
