"""Summary of a run's rows: every metric with n and its interval, also by task type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from planner.bench.runs.rows import Row
from planner.command_line import aligned
from planner.evaluation import statistics
from planner.evaluation.metrics.metric import Metric, MetricRecord, Portion
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Estimate

TASK_TYPES = ("constraint_free", "spatial", "temporal", "heterogeneous")
# Time and cost of a planner, besides the papers' metrics.
_COSTS: dict[str, Callable[[Row], float]] = {
    "model_calls": lambda row: row.cost.calls,
    "prompt_tokens": lambda row: row.cost.prompt_tokens,
    "reply_tokens": lambda row: row.cost.reply_tokens,
    "model_seconds": lambda row: row.cost.seconds,
    "money": lambda row: row.cost.money,
    "wall_s": lambda row: row.wall_s,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One number over the tasks that have it; `left_out` counts the other episodes by cause."""

    name: str
    paper: str
    estimate: Estimate
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run.

    Attributes:
        rows: their number; `judged` have a verdict, `tasks` are different.
        seeds: of a task, the fewest and the most.
        lines: each metric; success and percent complete by task type; costs.
        ends: why runs stopped; `faults`: why there is no verdict.
        cached_share: share of prompt tokens that were cached; None without a model.
    """

    rows: int
    judged: int
    tasks: int
    seeds: tuple[int, int]
    lines: tuple[Line, ...]
    ends: tuple[tuple[str, int], ...]
    faults: tuple[tuple[str, int], ...]
    cached_share: float | None


def summarise(rows: Iterable[Row]) -> Summary:
    """Summarises rows; episodes without a verdict are excluded from all numbers."""
    found = list(rows)
    judged = [row for row in found if row.verdict is not None]
    lines = [estimated(metric, judged) for metric in metrics().values()]
    for name in ("success", "percent_complete"):
        metric = metrics()[name]
        for kind in TASK_TYPES:
            some = [row for row in judged if kind in row.task_types]
            if some:
                line = estimated(metric, some)
                lines.append(Line(f"{name}, {kind}", line.paper, line.estimate, line.left_out))
    prompt = sum(row.cost.prompt_tokens for row in judged)
    cached = sum(row.cost.cached_tokens for row in judged)
    has_model = any(row.cost.calls for row in judged)
    for name, of_row in _COSTS.items():
        if has_model or name == "wall_s":
            values = statistics.by_task((row.episode_id, of_row(row)) for row in judged)
            lines.append(Line(name, "", statistics.mean(statistics.task_means(values))))
    return Summary(
        rows=len(found),
        judged=len(judged),
        tasks=len({row.episode_id for row in found}),
        seeds=seeds_of(row.key for row in found),
        lines=tuple(lines),
        ends=_counted(row.verdict.end.value for row in judged if row.verdict is not None),
        faults=_counted(row.error.fault.value for row in found if row.error is not None),
        cached_share=cached / prompt if prompt else None,
    )


def estimated(metric: MetricRecord, rows: Sequence[Row]) -> Line:
    """One metric over rows that have a verdict."""
    causes = _counted(row.left_out[metric.name] for row in rows if metric.name in row.left_out)
    if isinstance(metric, Metric):
        having = [row for row in rows if metric.name in row.metrics]
        estimate = metric.estimate([(row.episode_id, row.metrics[metric.name]) for row in having])
    else:
        having = [row for row in rows if metric.name in row.portions]
        found = [(row.episode_id, Portion(*row.portions[metric.name])) for row in having]
        estimate = metric.estimate(found)
    return Line(metric.name, metric.paper, estimate, causes)


def seeds_of(keys: Iterable[tuple[str, int]]) -> tuple[int, int]:
    """The fewest and the most seeds of a task, of pairs of a task and a seed; 0 without tasks."""
    counts = Counter(task for task, _ in set(keys)).values()
    return min(counts, default=0), max(counts, default=0)


def task_words(tasks: int, seeds: tuple[int, int]) -> str:
    """Such as `20 tasks with 3 seeds each`."""
    fewest, most = seeds
    each = f"{most} seed{'s' * (most != 1)} each" if fewest == most else f"{fewest} to {most} seeds"
    return f"{tasks} task{'s' * (tasks != 1)} with {each}"


def tasks_of(rows: Sequence[Row]) -> str:
    """The cell N of a table: the number of tasks, and of episodes where it is another."""
    tasks = len({row.episode_id for row in rows})
    return str(tasks) if tasks == len(rows) else f"{tasks} ({len(rows)} episodes)"


def _counted(words: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(words).most_common())


def summary_lines(summary: Summary) -> list[str]:
    """The table as text."""
    ran = f" of {task_words(summary.tasks, summary.seeds)}" if summary.rows else ""
    head = f"{summary.rows} episodes{ran}, {summary.judged} judged; N: tasks; intervals of 95 %"
    rows: list[tuple[str, ...]] = [("METRIC", "VALUE", "LOW", "HIGH", "N", "FROM")]
    rows += [
        (line.name, *map(number, (of.value, of.low, of.high)), str(of.n), line.paper)
        for line in summary.lines
        if (of := line.estimate).value is not None
    ]
    text = [head, *aligned(rows)]
    text += [
        f"no {line.name}: {_listed(line.left_out)}"
        for line in summary.lines
        if line.estimate.value is None and line.left_out
    ]
    text.append("ended: " + _listed(summary.ends))
    if summary.faults:
        text.append("no verdict: " + _listed(summary.faults))
    if summary.cached_share is not None:
        text.append(f"cached share of prompt tokens: {summary.cached_share:.3f}")
    return text


def _listed(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts) or "none"


def number(value: float | None) -> str:
    """A number with four digits, without decimals above a thousand; `-` if there is none."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
