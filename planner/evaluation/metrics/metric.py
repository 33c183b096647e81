"""The record of a metric: its definition, kind and function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation import statistics
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.statistics import Estimate
from planner.evaluation.trace import EpisodeTrace
from planner.parts.option import Option

INTERFACE = 1


class Kind(StrEnum):
    """The range of values: 0 or 1, a share from 0 to 1, or any number from 0."""

    RATE = "rate"
    SHARE = "share"
    MEAN = "mean"


_MAX = {Kind.SHARE: 1.0, Kind.MEAN: math.inf}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of single episodes; over episodes a rate or a mean.

    Attributes:
        name: in rows and tables.
        paper: where it is defined, or the package.
        kind: the range of an episode's value.
        of_episode: computes the value, or why there is none; never raises.
        options: reserved.
        interface: the version of this record that it was written for.
    """

    name: str
    paper: str
    kind: Kind
    of_episode: Callable[[EpisodeTrace], Measure]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    @property
    def summary(self) -> str:
        """One line for the help."""
        return f"{self.paper}: {self.kind} of episodes"

    def estimate(self, values: Sequence[float]) -> Estimate:
        """The rate or mean of the episodes' values, with its interval."""
        if self.kind is Kind.RATE:
            return statistics.rate(round(sum(values)), len(values))
        return statistics.mean(values, min_value=0.0, max_value=_MAX[self.kind])


@dataclass(frozen=True, slots=True)
class Portion:
    """An episode's addends of a ratio of sums; `left_out` says why it has none, or ""."""

    part: float
    whole: float
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class PooledMetric:
    """A ratio of sums over all episodes that are not left out."""

    name: str
    paper: str
    of_episode: Callable[[EpisodeTrace], Portion]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    @property
    def summary(self) -> str:
        """One line for the help."""
        return f"{self.paper}: ratio over all episodes"

    def estimate(self, portions: Sequence[Portion]) -> Estimate:
        """The ratio over episodes, none of them left out, with its interval."""

        def ratio(chosen: Sequence[int]) -> float | None:
            whole = sum(portions[i].whole for i in chosen)
            return sum(portions[i].part for i in chosen) / whole if whole else None

        return statistics.bootstrap(len(portions), ratio)


MetricRecord = Metric | PooledMetric
