"""All metrics by name, and their summary over many episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.evaluation import statistics
from planner.evaluation.metrics.metric import ALL_METRICS, MAX_VALUE, Kind, Metric, MetricRecord
from planner.evaluation.statistics import Comparison, Estimate
from planner.evaluation.trace import EpisodeTrace
from planner.world.errors import PlannerError


def metrics() -> Mapping[str, MetricRecord]:
    """All usable metrics by name, those of one paper together, beginning with the core's."""
    usable = ALL_METRICS.usable()
    papers = list(dict.fromkeys(metric.paper for metric in usable.values()))
    return dict(sorted(usable.items(), key=lambda item: papers.index(item[1].paper)))


@dataclass(frozen=True, slots=True)
class Row:
    """One metric over some episodes; `left_out`: number of episodes without a value, by cause."""

    metric: MetricRecord
    estimate: Estimate
    left_out: Mapping[str, int] = field(default_factory=dict)


def summarise(
    traces: Sequence[EpisodeTrace], chosen: Iterable[MetricRecord] | None = None
) -> tuple[Row, ...]:
    """All metrics, or the chosen ones, over some episodes."""
    return tuple(
        _row(metric, traces) for metric in (metrics().values() if chosen is None else chosen)
    )


def compare(first: Sequence[EpisodeTrace], second: Sequence[EpisodeTrace], name: str) -> Comparison:
    """Compares one metric in two runs of the same episodes; pairs without both values drop out.

    A task that was run with several seeds counts once, with its mean.

    Raises:
        PlannerError: for an unknown or pooled metric, different episodes, or no pair.
    """
    metric = metrics().get(name)
    if not isinstance(metric, Metric):
        raise PlannerError(f"{name} is not a metric of single episodes")
    ones, others = (_by_episode(traces) for traces in (first, second))
    if ones.keys() != others.keys():
        odd = min(ones.keys() ^ others.keys())
        raise PlannerError(f"episode {odd[0]} with seed {odd[1]} is in one of the runs only")
    pairs = [
        (_task(ones[key]), metric.of_episode(ones[key]), metric.of_episode(others[key]))
        for key in ones
    ]
    found = [
        (task, a.value, b.value)
        for task, a, b in pairs
        if a.value is not None and b.value is not None
    ]
    return statistics.compare(
        statistics.by_task((task, value) for task, value, _ in found),
        statistics.by_task((task, value) for task, _, value in found),
        binary=metric.kind is Kind.RATE,
        max_value=MAX_VALUE[metric.kind],
    )


def _by_episode(traces: Sequence[EpisodeTrace]) -> dict[tuple[str, int], EpisodeTrace]:
    found = {(trace.episode.episode_id, trace.episode.seed): trace for trace in traces}
    if len(found) != len(traces):
        raise PlannerError("a run has one episode twice with the same seed")
    return found


def _task(trace: EpisodeTrace) -> tuple[str, str, str]:
    """What is the same for all seeds; an instruction without an episode has no other name."""
    episode = trace.episode
    return episode.episode_id, episode.house, episode.instruction


def _row(metric: MetricRecord, traces: Sequence[EpisodeTrace]) -> Row:
    tasks = list(map(_task, traces))
    if isinstance(metric, Metric):
        measures = [metric.of_episode(trace) for trace in traces]
        pairs = zip(tasks, measures, strict=True)
        values = [(task, m.value) for task, m in pairs if m.value is not None]
        left_out = Counter(m.left_out for m in measures if m.value is None)
        return Row(metric, metric.estimate(values), left_out)
    portions = [metric.of_episode(trace) for trace in traces]
    counted = [p for p in zip(tasks, portions, strict=True) if not p[1].left_out]
    left_out = Counter(portion.left_out for portion in portions if portion.left_out)
    return Row(metric, metric.estimate(counted), left_out)
