"""How well a memory matches the truth: precision, recall and what goes with them.

The paper scores entity lists on Spot-Indoor this way without giving its matching distance
(EPM-5): class and place, place alone, class alone. Matching is one to one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from planner.world.geometry import Vec3

DEFAULT_DISTANCE_M = 0.5


@dataclass(frozen=True, slots=True)
class Placed:
    """A movable thing at a place, as it is or as it is remembered."""

    name: str
    class_name: str
    position_m: Vec3


@dataclass(frozen=True, slots=True)
class Match:
    """A remembered thing, the true one it stands for, and how far apart they are."""

    remembered: str
    true: str
    distance_m: float


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of one comparison; rates are None where there is nothing to divide by.

    Attributes:
        matches: pairs that fit.
        remembered: how many things the memory has.
        true: how many there are.
    """

    matches: tuple[Match, ...]
    remembered: int
    true: int

    @property
    def precision(self) -> float | None:
        """Share of what is remembered that fits something true."""
        return len(self.matches) / self.remembered if self.remembered else None

    @property
    def recall(self) -> float | None:
        """Share of what is true that is remembered."""
        return len(self.matches) / self.true if self.true else None

    @property
    def hallucinations(self) -> int:
        """Remembered things that fit nothing."""
        return self.remembered - len(self.matches)

    @property
    def error_m(self) -> float | None:
        """Mean distance of the pairs."""
        return float(np.mean([m.distance_m for m in self.matches])) if self.matches else None


@dataclass(frozen=True, slots=True)
class Variants:
    """The paper's three ways to score, and hallucinations with classes ignored.

    Attributes:
        full: class and place must fit.
        any_class: class names are ignored.
        any_place: the distance is not limited.
    """

    full: Score
    any_class: Score
    any_place: Score

    @property
    def hallucinations(self) -> int:
        """Remembered things near no true one, whatever their class (EPM-5)."""
        return self.any_class.hallucinations


def variants(
    remembered: Sequence[Placed], true: Sequence[Placed], distance_m: float = DEFAULT_DISTANCE_M
) -> Variants:
    """Scores a memory in all three ways."""
    return Variants(
        full=score(remembered, true, distance_m),
        any_class=score(remembered, true, distance_m, classes=False),
        any_place=score(remembered, true, math.inf),
    )


def score(
    remembered: Sequence[Placed],
    true: Sequence[Placed],
    distance_m: float = DEFAULT_DISTANCE_M,
    *,
    classes: bool = True,
) -> Score:
    """Pairs as many things as possible, and among those ways the one of least distance.

    Args:
        remembered: the memory's things.
        true: the world's.
        distance_m: farthest distance of a pair, this included; may be infinite.
        classes: whether a pair must have the same class.
    """
    if not remembered or not true:
        return Score((), len(remembered), len(true))
    ours = np.array([p.position_m for p in remembered], float)
    theirs = np.array([p.position_m for p in true], float)
    away = np.linalg.norm(ours[:, None] - theirs[None], axis=2)
    fits = away <= distance_m
    if classes:
        names = np.array([p.class_name for p in remembered])
        fits &= names[:, None] == np.array([p.class_name for p in true])[None]
    # A pair that does not fit costs more than all that fit together: most pairs come first.
    forbidden = float(away[fits].max(initial=1.0)) * (min(away.shape) + 1)
    rows, columns = linear_sum_assignment(np.where(fits, away, forbidden))
    matches = tuple(
        Match(remembered[i].name, true[j].name, float(away[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if fits[i, j]
    )
    return Score(matches, len(remembered), len(true))


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval over houses or episodes, by resampling them."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval(values: Sequence[float | None], rounds: int = 2000, seed: int = 0) -> Interval | None:
    """The mean of the values that there are; None without any."""
    known = np.array([v for v in values if v is not None], float)
    if not known.size:
        return None
    rng = np.random.default_rng(seed)
    means = known[rng.integers(known.size, size=(rounds, known.size))].mean(axis=1)
    low, high = (float(v) for v in np.quantile(means, (0.025, 0.975)))
    return Interval(float(known.mean()), low, high, int(known.size))
