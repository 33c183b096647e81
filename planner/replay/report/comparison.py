"""Several bags side by side: differences, metrics with intervals, and paired tests.

Bags with the same settings are one arm. Settings are the planner, its model, the version, the
memory's updater and the nodes' parameters; arms have tasks, houses and seeds in common, by which
bags of two arms are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

from planner.evaluation import statistics
from planner.evaluation.metrics.metric import Kind, Metric
from planner.evaluation.metrics.table import metrics, summarise
from planner.evaluation.trace import EpisodeTrace
from planner.replay.report import document as d
from planner.world.errors import PlannerError

_MAX_ARMS = 12
# Paths of a recording, which differ from run to run and are not settings.
_PLACES = ("/", "~", "file:")
_WHICH_RUN = frozenset({"instruction", "house", "episode", "seed"})
Key = tuple[str, str, int]


def compare(
    reports: Sequence[d.BagReport], traces: Sequence[EpisodeTrace | None]
) -> d.Comparison | None:
    """Compares the bags; None for a single one.

    Args:
        reports: of each bag.
        traces: input of the metrics, if the bag could be evaluated.
    """
    if len(reports) < 2:
        return None
    settings = [_settings(report) for report in reports]
    differing = _differing(settings)
    notes = []
    groups: dict[tuple[str, ...], list[int]] = {}
    telling = [
        name for name in differing if name not in _WHICH_RUN and not _is_place(name, settings)
    ]
    for index, setting in enumerate(settings):
        groups.setdefault(tuple(setting.get(name, "") for name in telling), []).append(index)
    if len(groups) > _MAX_ARMS:
        notes.append(f"The settings differ in more than {_MAX_ARMS} ways: all bags are one group.")
        groups, telling = {(): list(range(len(reports)))}, []
    arms = [_arm(telling, values, members, reports, traces) for values, members in groups.items()]
    judged = [
        {i: trace for i in members if (trace := traces[i]) is not None}
        for members in groups.values()
    ]
    tests = []
    for (one, first), (other, second) in combinations(zip(arms, judged, strict=True), 2):
        tests += _tests(one.name, other.name, _by_task(first, reports), _by_task(second, reports))
    left_out = sum(trace is None for trace in traces)
    if left_out:
        notes.append(f"{left_out} bags could not be judged again and have no part in the metrics.")
    if len(groups) > 1 and not tests:
        notes.append("No task was done by two groups, so that nothing can be paired.")
    return d.Comparison(
        arms=tuple(arms),
        tests=tuple(tests),
        differences=tuple(
            d.Difference(name, tuple(setting.get(name, "") for setting in settings))
            for name in differing
        ),
        notes=tuple(notes),
    )


def _settings(report: d.BagReport) -> dict[str, str]:
    about = report.about
    return {
        "instruction": about.instruction,
        "house": about.house,
        "episode": about.episode_id,
        "seed": "" if about.seed is None else str(about.seed),
        "planner": about.planner,
        "model": about.model,
        "backend": about.backend,
        "version": about.version,
        "agents": ", ".join(about.agents),
        "memory updater": report.memory.updater if report.memory else "",
        **about.settings,
    }


def _differing(settings: Sequence[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(name for setting in settings for name in setting)
    return [name for name in names if len({setting.get(name, "") for setting in settings}) > 1]


def _is_place(name: str, settings: Sequence[Mapping[str, str]]) -> bool:
    """Whether a setting is only a path, such as the bag's own."""
    return any(setting.get(name, "").startswith(_PLACES) for setting in settings)


def _arm(
    names: Sequence[str],
    values: Sequence[str],
    members: Sequence[int],
    reports: Sequence[d.BagReport],
    traces: Sequence[EpisodeTrace | None],
) -> d.Arm:
    judged = [trace for i in members if (trace := traces[i]) is not None]
    metrics = [
        d.ArmMetric(row.metric.name, row.metric.paper, _estimate(row.estimate))
        for row in (summarise(judged) if judged else ())
        if row.estimate.value is not None
    ]
    pairs = dict(zip(names, values, strict=True))
    said = [f"{value or 'none'}" for value in list(pairs.values())[:3]]
    bags = tuple(reports[i].name for i in members)
    return d.Arm(" · ".join(said) or "all", pairs, bags, tuple(metrics))


def _estimate(found: statistics.Estimate) -> d.Estimate:
    value, low, high = (
        None if v is None else round(v, 5) for v in (found.value, found.low, found.high)
    )
    return d.Estimate(value, low, high, found.n, str(found.interval))


def _by_task(
    traces: Mapping[int, EpisodeTrace], reports: Sequence[d.BagReport]
) -> dict[Key, list[EpisodeTrace]]:
    found: dict[Key, list[EpisodeTrace]] = {}
    for index, trace in traces.items():
        seed = reports[index].about.seed
        episode = trace.episode
        key = (episode.episode_id, episode.house, episode.seed if seed is None else seed)
        found.setdefault(key, []).append(trace)
    return found


def _tests(
    one: str,
    other: str,
    first: Mapping[Key, Sequence[EpisodeTrace]],
    second: Mapping[Key, Sequence[EpisodeTrace]],
) -> list[d.PairedTest]:
    """Every per-episode metric on the tasks that both arms did; repeats and seeds are averaged."""
    found = []
    for metric in metrics().values():
        if not isinstance(metric, Metric):
            continue
        pairs = [
            (key[:2], a, b)
            for key in sorted(first.keys() & second.keys())
            if (a := _mean(metric, first[key])) is not None
            and (b := _mean(metric, second[key])) is not None
        ]
        if not pairs:
            continue
        ones = statistics.by_task((task, value) for task, value, _ in pairs)
        others = statistics.by_task((task, value) for task, _, value in pairs)
        values = {value for _, a, b in pairs for value in (a, b)}
        binary = metric.kind is Kind.RATE and values <= {0.0, 1.0}
        try:
            made = statistics.compare(ones, others, binary=binary)
        except PlannerError:
            continue
        found.append(
            d.PairedTest(
                metric=metric.name,
                first=one,
                second=other,
                first_mean=round(fmean(statistics.task_means(ones)), 5),
                second_mean=round(fmean(statistics.task_means(others)), 5),
                difference=_estimate(made.difference),
                larger=made.better,
                smaller=made.worse,
                p=round(made.p, 6),
                test=made.test,
            )
        )
    return found


def _mean(metric: Metric, traces: Sequence[EpisodeTrace]) -> float | None:
    values = [v for trace in traces if (v := metric.of_episode(trace).value) is not None]
    return fmean(values) if values else None
