"""What a thing is, from many looks: chances of classes are multiplied, not counted.

One look from afar often takes a thing for another; over looks the wrong guesses differ and the
right one comes again, at least as the second guess. So each look's chances are kept as
logarithms above a floor, which keeps one look from ruling anything out, and small pictures of a
thing count less than large ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

# A class that a look does not name had this chance; what fills so many cells counts in full.
_FLOOR: Final = 0.02
_FULL_CELLS: Final = 32
# Looks resemble each other: what was seen long ago must not outweigh what is seen now.
_MAX_WEIGHT: Final = 40.0


@dataclass(slots=True)
class Evidence:
    """Summed logarithms of the chances of classes; what is not there has 0."""

    weights: dict[str, float] = field(default_factory=dict)

    def add(self, probabilities: Sequence[tuple[str, float]], cells: int) -> None:
        """Takes one look in: (class, chance) pairs, and how many cells showed the thing."""
        share = min(1.0, math.sqrt(cells / _FULL_CELLS))
        for name, chance in probabilities:
            gain = share * math.log(max(chance, _FLOOR) / _FLOOR)
            self.weights[name] = self.weights.get(name, 0.0) + gain
        highest = max(self.weights.values(), default=0.0)
        if highest > _MAX_WEIGHT:
            self.weights = {n: w * _MAX_WEIGHT / highest for n, w in self.weights.items()}

    @property
    def best(self) -> str:
        """The class that all looks together speak for; "" before the first."""
        return max(self.weights, key=lambda name: self.weights[name], default="")

    def margin_over(self, name: str) -> float:
        """How much likelier the best class is than `name`, as a logarithm; 0 for the best."""
        return self.weights.get(self.best, 0.0) - self.weights.get(name, 0.0)

    @property
    def margin(self) -> float:
        """How much likelier the best class is than the second, as a logarithm."""
        first, second, *_ = (*sorted(self.weights.values(), reverse=True), 0.0, 0.0)
        return first - second
