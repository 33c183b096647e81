"""Statistics over tasks with uncertainty: rates, means, ratios, and pairs of runs.

Episodes of one task with several seeds are not independent: what was drawn is the task. So each
task counts once, with the mean over its seeds, and `n` is the number of tasks.

- Rates: Clopper-Pearson, the exact binomial interval, as LLaMAR reports them (LLAMAR-5.1).
- Rates of tasks with several seeds: the same with the effective number of episodes (Korn and
  Graubard, Survey Methodology 24, 1998), which is the number of tasks if the seeds of a task agree,
  and that of the episodes if they do not depend on the task. Unlike Student's t it has a width if
  all succeed.
- Rates of many planners in one table: Wilson's interval, which is narrower, covers the rate at the
  stated level on average, and never leaves 0 to 1.
- Means: Student's t.
- Ratios of sums over episodes: bootstrap over tasks.
- Two runs of the same tasks, success, one seed each: McNemar's exact test. Only the tasks in which
  the runs differ are informative, and the number won by one run is binomial; no approximation is
  used, since there are few of them.
- Two runs, any other value: a sign-flip test of the mean difference, since for equal runs the sign
  of each task's difference is random. It tests the printed mean itself and allows ties;
  Wilcoxon's test drops episodes without a difference, of which percent complete has many, and tests
  something other than the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.world.errors import PlannerError

CONFIDENCE = 0.95
RESAMPLES = 9_999
# Up to this many differing episodes all sign patterns are enumerated.
EXACT_SIGNS = 16


class Interval(StrEnum):
    """The method of an interval."""

    CLOPPER_PEARSON = "clopper_pearson"
    KORN_GRAUBARD = "korn_graubard"
    WILSON = "wilson"
    STUDENT_T = "student_t"
    BOOTSTRAP = "bootstrap"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number over n tasks with its 95 % interval; all None if there is no task.

    `low` and `high` are None if n is too small.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of the same n tasks.

    Attributes:
        difference: mean of second minus first, with its interval of Student's t.
        better, worse: tasks in which the second's value is larger, or smaller.
        p: two-sided probability of at least such a difference if the runs were equal.
        test: mcnemar_exact or sign_flip.
    """

    difference: Estimate
    better: int
    worse: int
    p: float
    test: str


def by_task(entries: Iterable[tuple[Hashable, float]]) -> list[list[float]]:
    """The values of each task, from pairs of what names the task and a value."""
    found: dict[Hashable, list[float]] = {}
    for task, value in entries:
        found.setdefault(task, []).append(value)
    return list(found.values())


def task_means(values: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each task's values."""
    return [math.fsum(of_task) / len(of_task) for of_task in values]


def rate(successes: int, n: int) -> Estimate:
    """A rate of n tasks with the exact binomial interval.

    Raises:
        PlannerError: if there are more successes than tasks.
    """
    return _binomial(successes, n, Interval.CLOPPER_PEARSON)


def wilson(successes: int, n: int) -> Estimate:
    """A rate of n tasks with Wilson's interval: the rates that the score test does not reject.

    Raises:
        PlannerError: if there are more successes than tasks.
    """
    return _binomial(successes, n, Interval.WILSON)


def _binomial(successes: int, n: int, interval: Interval) -> Estimate:
    if not 0 <= successes <= n:
        raise PlannerError(f"{successes} successes of {n} episodes")
    if n == 0:
        return Estimate(None, None, None, 0, Interval.NONE)
    # Imported here, since it takes a second, which every worker of a run would pay.
    from scipy import stats

    method = "wilson" if interval is Interval.WILSON else "exact"
    found = stats.binomtest(successes, n).proportion_ci(CONFIDENCE, method=method)
    return Estimate(successes / n, float(found.low), float(found.high), n, interval)


def task_rate(outcomes: Sequence[Sequence[float]]) -> Estimate:
    """A rate over tasks, each with its outcomes of 0 or 1; their numbers may differ.

    The value is the mean of the tasks' means.
    """
    tasks, episodes = len(outcomes), sum(map(len, outcomes))
    if tasks == episodes:
        return rate(round(math.fsum(map(math.fsum, outcomes))), tasks)
    from scipy import stats

    means = task_means(outcomes)
    value = math.fsum(means) / tasks
    n = _effective_episodes(means, episodes)
    tail, won, lost = (1 - CONFIDENCE) / 2, value * n, (1 - value) * n
    low = float(stats.beta.ppf(tail, won, lost + 1)) if won else 0.0
    high = float(stats.beta.ppf(1 - tail, won + 1, lost)) if lost else 1.0
    return Estimate(value, low, high, tasks, Interval.KORN_GRAUBARD)


def _effective_episodes(means: Sequence[float], episodes: int) -> float:
    """How many independent episodes would tell as much; at least the number of tasks."""
    from scipy import stats

    tasks = len(means)
    value = math.fsum(means) / tasks
    if tasks == 1 or value in (0.0, 1.0):
        return tasks
    variance = float(np.var(means, ddof=1)) / tasks
    if variance == 0:
        return episodes
    upper = (1 + CONFIDENCE) / 2
    # The variance itself is estimated, from as many values as there are tasks.
    freedom = float((stats.t.ppf(upper, episodes - 1) / stats.t.ppf(upper, tasks - 1)) ** 2)
    return min(episodes, max(tasks, value * (1 - value) / variance * freedom))


def mean(
    values: Sequence[float], *, min_value: float = -math.inf, max_value: float = math.inf
) -> Estimate:
    """A mean with the interval of Student's t; without an interval for a single value.

    The interval is clipped to the bounds of the values, `min_value` and `max_value`.
    """
    n = len(values)
    if n == 0:
        return Estimate(None, None, None, 0, Interval.NONE)
    value = math.fsum(values) / n
    if n == 1:
        return Estimate(value, None, None, 1, Interval.NONE)
    from scipy import stats

    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * error
    low, high = max(min_value, value - reach), min(max_value, value + reach)
    return Estimate(value, low, high, n, Interval.STUDENT_T)


def bootstrap(
    n: int, statistic: Callable[[Sequence[int]], float | None], seed: int = 0
) -> Estimate:
    """A statistic of n tasks, with the percentile interval over resampled tasks.

    Args:
        n: number of tasks.
        statistic: its value for tasks by index, which may repeat; None if undefined.
        seed: of the resampling; equal seeds give equal intervals.
    """
    value = statistic(range(n)) if n else None
    if value is None or n == 1:
        return Estimate(value, None, None, n, Interval.NONE)
    rng = np.random.default_rng(seed)
    found = [statistic(rng.integers(0, n, n).tolist()) for _ in range(999)]
    defined = [v for v in found if v is not None]
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high), n, Interval.BOOTSTRAP)


def compare(
    first: Sequence[Sequence[float]],
    second: Sequence[Sequence[float]],
    *,
    binary: bool,
    max_value: float = math.inf,
) -> Comparison:
    """Compares two runs over the same tasks by the mean of each task.

    Args:
        first: values of the first run, those of each task together.
        second: of the second run, in the same order.
        binary: whether all values are 0 or 1, such as success.
        max_value: of values from 0, as 1 of shares; no difference is larger.

    Raises:
        PlannerError: if the numbers of tasks differ or are zero.
    """
    if len(first) != len(second) or not first:
        raise PlannerError(f"runs of {len(first)} and {len(second)} tasks cannot be compared")
    pairs = zip(task_means(first), task_means(second), strict=True)
    differences = [b - a for a, b in pairs]
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    largest = 1.0 if binary else max_value
    difference = mean(differences, min_value=-largest, max_value=largest)
    if binary and all(len(of_task) == 1 for of_task in (*first, *second)):
        from scipy import stats

        p = 1.0 if better + worse == 0 else float(stats.binomtest(better, better + worse).pvalue)
        return Comparison(difference, better, worse, p, "mcnemar_exact")
    p = _sign_flip(np.array([d for d in differences if d]))
    return Comparison(difference, better, worse, p, "sign_flip")


def _sign_flip(differences: np.typing.NDArray[np.float64]) -> float:
    """The share of random sign patterns with a sum as far from zero; exact for few differences."""
    count = len(differences)
    if count == 0:
        return 1.0
    # Treat sums that differ only by rounding as equal.
    observed = abs(differences.sum()) * (1 - 1e-12) - 1e-12
    if count <= EXACT_SIGNS:
        patterns = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        sums = np.abs((1 - 2 * patterns) @ differences)
        return float(np.mean(sums >= observed))
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(RESAMPLES):
        hits += bool(abs(rng.choice((-1.0, 1.0), count) @ differences) >= observed)
    return (hits + 1) / (RESAMPLES + 1)
