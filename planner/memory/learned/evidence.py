"""The class and colour of a thing over many detections.

Probabilities of classes are multiplied, not counted, pixels of colours are counted.

A single distant detection is often wrong, but wrong candidates vary while the right one recurs,
at least in second place. Log probabilities are summed above a floor, so that no single detection
rules a class out; small detections weigh less than large ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from planner.memory.seen_color import color_by_votes
from planner.world.look import Color, Look
from planner.world.second_guess import Guesses

# The probability of a class that is not a candidate; detections of so many cells have full weight.
_FLOOR: Final = 0.02
_FULL_CELLS: Final = 32
# Detections are correlated: old ones must not outweigh new ones.
_MAX_WEIGHT: Final = 40.0
# Second guesses that are kept: how many, and the least share of the weight of what it is taken for.
# Scores are in coarse steps, as every look changes them a little.
_GUESSES, _LEAST_SHARE, _STEPS = 3, 0.3, 20


@dataclass(slots=True)
class Evidence:
    """Summed log probabilities of classes above the floor; 0 where absent."""

    weights: dict[str, float] = field(default_factory=dict)
    colors: dict[Color, float] = field(default_factory=dict)

    def add(
        self,
        probabilities: Sequence[tuple[str, float]],
        cells: int,
        colors: Mapping[Color, int] | None = None,
    ) -> None:
        """Adds a detection: (class, probability) pairs, its number of cells, pixels by colour."""
        for color, count in (colors or {}).items():
            self.colors[color] = self.colors.get(color, 0.0) + count
        share = min(1.0, math.sqrt(cells / _FULL_CELLS))
        for name, chance in probabilities:
            gain = share * math.log(max(chance, _FLOOR) / _FLOOR)
            self.weights[name] = self.weights.get(name, 0.0) + gain
        highest = max(self.weights.values(), default=0.0)
        if highest > _MAX_WEIGHT:
            self.weights = {n: w * _MAX_WEIGHT / highest for n, w in self.weights.items()}

    @property
    def look(self) -> Look:
        """What it looks like; nothing tells what it is made of."""
        return Look(color=color_by_votes(self.colors))

    @property
    def best(self) -> str:
        """The most likely class; "" before the first detection."""
        return max(self.weights, key=lambda name: self.weights[name], default="")

    def second_guesses(self, name: str) -> Guesses:
        """What else a thing may be that is taken for a class, likeliest first."""
        taken_for = max(self.weights.get(name, 0.0), 1e-9)
        shares = sorted(
            (-weight / taken_for, other)
            for other, weight in self.weights.items()
            if other != name and weight >= _LEAST_SHARE * taken_for
        )
        return tuple(
            (other, round(min(1.0, -share) * _STEPS) / _STEPS) for share, other in shares[:_GUESSES]
        )

    def margin_over(self, name: str) -> float:
        """Log ratio of the best class to `name`; 0 for the best."""
        return self.weights.get(self.best, 0.0) - self.weights.get(name, 0.0)

    @property
    def margin(self) -> float:
        """Log ratio of the best class to the second."""
        first, second, *_ = (*sorted(self.weights.values(), reverse=True), 0.0, 0.0)
        return first - second
