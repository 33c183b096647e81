"""The record of a metric: its definition, kind and function."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation import statistics
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.statistics import Estimate
from planner.evaluation.trace import EpisodeTrace
from planner.parts.catalog import Catalog
from planner.parts.option import Option

INTERFACE = 1


class Kind(StrEnum):
    """The range of values: 0 or 1, a share from 0 to 1, or any number from 0."""

    RATE = "rate"
    SHARE = "share"
    MEAN = "mean"


MAX_VALUE = {Kind.RATE: 1.0, Kind.SHARE: 1.0, Kind.MEAN: math.inf}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of single episodes; over tasks a rate or a mean.

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

    def estimate(self, values: Sequence[tuple[Hashable, float]]) -> Estimate:
        """The rate or mean over tasks, with its interval, of pairs of a task and a value."""
        outcomes = statistics.by_task(values)
        if self.kind is Kind.RATE:
            return statistics.task_rate(outcomes)
        means = statistics.task_means(outcomes)
        return statistics.mean(means, min_value=0.0, max_value=MAX_VALUE[self.kind])


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

    def estimate(self, portions: Sequence[tuple[Hashable, Portion]]) -> Estimate:
        """The ratio, with its interval over tasks, of pairs of a task and one of its portions."""
        parts = statistics.by_task((task, portion.part) for task, portion in portions)
        wholes = statistics.by_task((task, portion.whole) for task, portion in portions)
        sums = [(math.fsum(a), math.fsum(b)) for a, b in zip(parts, wholes, strict=True)]

        def ratio(chosen: Sequence[int]) -> float | None:
            whole = math.fsum(sums[i][1] for i in chosen)
            return math.fsum(sums[i][0] for i in chosen) / whole if whole else None

        return statistics.bootstrap(len(sums), ratio)


MetricRecord = Metric | PooledMetric

# `METRICS` is each module's own mapping of this package.
ALL_METRICS: Catalog[MetricRecord] = Catalog(
    "metric",
    "planner.evaluation.metrics",
    "METRICS",
    f"{__name__}:MetricRecord",
    INTERFACE,
    keep_order=True,
)


def by_name(*metrics: MetricRecord) -> Mapping[str, MetricRecord]:
    """The metrics of a module as its catalog reads them, in their order in tables."""
    return {metric.name: metric for metric in metrics}
