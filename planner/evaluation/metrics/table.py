"""All metrics by name, and what they say of many episodes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from planner.evaluation import statistics
from planner.evaluation.metrics import epm, et_plan_bench, llamar, partnr, teach
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.statistics import Comparison, Estimate
from planner.evaluation.trace import EpisodeTrace
from planner.world.errors import PlannerError


class Kind(StrEnum):
    """What an episode's value is: 0 or 1, a share from 0 to 1, or any number from 0."""

    RATE = "rate"
    SHARE = "share"
    MEAN = "mean"


_MOST = {Kind.SHARE: 1.0, Kind.MEAN: math.inf}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of single episodes; over episodes a rate or a mean."""

    name: str
    paper: str
    kind: Kind
    of_episode: Callable[[EpisodeTrace], Measure]

    def estimate(self, values: Sequence[float]) -> Estimate:
        """The rate or mean of some episodes' values, with its interval."""
        if self.kind is Kind.RATE:
            return statistics.rate(round(sum(values)), len(values))
        return statistics.mean(values, least=0.0, most=_MOST[self.kind])


@dataclass(frozen=True, slots=True)
class PooledMetric:
    """A ratio of sums over episodes; `left_out` says why an episode has no part in it, or ""."""

    name: str
    paper: str
    of_all: Callable[[Sequence[EpisodeTrace]], Measure]
    left_out: Callable[[EpisodeTrace], str]


def _weighted_share(trace: EpisodeTrace) -> str:
    return teach.left_out(trace, weighted=True)


def _plain_share(trace: EpisodeTrace) -> str:
    return teach.left_out(trace, weighted=False)


METRICS: Mapping[str, Metric | PooledMetric] = {
    metric.name: metric
    for metric in (
        Metric("success", "PARTNR", Kind.RATE, partnr.success),
        Metric("percent_complete", "PARTNR", Kind.SHARE, partnr.percent_complete),
        Metric("sim_steps", "PARTNR", Kind.MEAN, partnr.sim_steps),
        Metric("planning_cycles", "PARTNR", Kind.MEAN, partnr.planning_cycles),
        Metric("task_offloading", "PARTNR", Kind.SHARE, partnr.task_offloading),
        Metric("extraneous_effort", "PARTNR", Kind.SHARE, partnr.extraneous_effort),
        Metric("exploration_efficiency", "PARTNR", Kind.MEAN, partnr.exploration_efficiency),
        Metric("skill_success", "EPM", Kind.SHARE, epm.skill_success),
        Metric("no_skill_failure", "EPM", Kind.RATE, epm.no_skill_failure),
        Metric("success_after_failure", "EPM", Kind.RATE, epm.success_after_failure),
        Metric("planning_success", "EPM", Kind.RATE, epm.planning_success),
        Metric("execution_success", "EPM", Kind.RATE, epm.execution_success),
        Metric("llamar_success", "LLaMAR", Kind.RATE, llamar.success),
        Metric("transport_rate", "LLaMAR", Kind.SHARE, llamar.transport_rate),
        Metric("coverage", "LLaMAR", Kind.SHARE, llamar.coverage),
        Metric("coverage_attempted", "LLaMAR", Kind.SHARE, llamar.coverage_attempted),
        Metric("balance", "LLaMAR", Kind.SHARE, llamar.balance),
        Metric("balance_all", "LLaMAR", Kind.SHARE, llamar.balance_all),
        Metric("joint_steps", "LLaMAR", Kind.MEAN, llamar.joint_steps),
        Metric("criteria_success", "ET-Plan-Bench", Kind.RATE, et_plan_bench.criteria_success),
        Metric("sequence_length", "ET-Plan-Bench", Kind.MEAN, et_plan_bench.sequence_length),
        Metric("lcs_length", "ET-Plan-Bench", Kind.MEAN, et_plan_bench.lcs_length),
        Metric("lcs_ratio", "ET-Plan-Bench", Kind.SHARE, et_plan_bench.lcs_ratio),
        Metric(
            "lcs_ratio_published", "ET-Plan-Bench", Kind.SHARE, et_plan_bench.lcs_ratio_published
        ),
        Metric("moving_distance", "ET-Plan-Bench", Kind.MEAN, et_plan_bench.moving_distance),
        PooledMetric("goal_condition_success", "TEACh", teach.goal_condition_success, _plain_share),
        PooledMetric("weighted_success", "TEACh", teach.weighted_success, _weighted_share),
        PooledMetric(
            "weighted_goal_conditions", "TEACh", teach.weighted_goal_conditions, _weighted_share
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Row:
    """One metric over some episodes; `left_out`: how many have no value, by cause."""

    metric: Metric | PooledMetric
    estimate: Estimate
    left_out: Mapping[str, int] = field(default_factory=dict)


def summarise(
    traces: Sequence[EpisodeTrace], metrics: Iterable[Metric | PooledMetric] = METRICS.values()
) -> tuple[Row, ...]:
    """Every metric over some episodes."""
    return tuple(_row(metric, traces) for metric in metrics)


def compare(first: Sequence[EpisodeTrace], second: Sequence[EpisodeTrace], name: str) -> Comparison:
    """One metric in two runs of the same episodes; pairs in which either has no value drop out.

    Raises:
        PlannerError: for an unknown or a pooled metric, runs of other episodes, or no pair.
    """
    metric = METRICS.get(name)
    if not isinstance(metric, Metric):
        raise PlannerError(f"{name} is no metric of single episodes")
    ones, others = (_by_episode(traces) for traces in (first, second))
    if ones.keys() != others.keys():
        odd = min(ones.keys() ^ others.keys())
        raise PlannerError(f"episode {odd[0]} with seed {odd[1]} is in one of the runs only")
    pairs = [(metric.of_episode(ones[key]), metric.of_episode(others[key])) for key in ones]
    values = [(a.value, b.value) for a, b in pairs if a.value is not None and b.value is not None]
    return statistics.compare(
        [a for a, _ in values], [b for _, b in values], binary=metric.kind is Kind.RATE
    )


def _by_episode(traces: Sequence[EpisodeTrace]) -> dict[tuple[str, int], EpisodeTrace]:
    found = {(trace.episode.episode_id, trace.episode.seed): trace for trace in traces}
    if len(found) != len(traces):
        raise PlannerError("a run has one episode twice with the same seed")
    return found


def _row(metric: Metric | PooledMetric, traces: Sequence[EpisodeTrace]) -> Row:
    if isinstance(metric, Metric):
        measures = [metric.of_episode(trace) for trace in traces]
        values = [m.value for m in measures if m.value is not None]
        left_out = Counter(m.left_out for m in measures if m.value is None)
        return Row(metric, metric.estimate(values), left_out)
    left_out = Counter(why for trace in traces if (why := metric.left_out(trace)))
    counted = [trace for trace in traces if not metric.left_out(trace)]
    estimate = statistics.bootstrap(
        len(counted), lambda chosen: metric.of_all([counted[i] for i in chosen]).value
    )
    return Row(metric, estimate, left_out)
