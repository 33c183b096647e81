"""Statistics over episodes with uncertainty: rates, means, ratios, and pairs of runs.

- Rates: Clopper-Pearson, the exact binomial interval, as LLaMAR reports them (LLAMAR-5.1).
- Rates of many planners in one table: Wilson's interval, which is narrower, covers the rate at the
  stated level on average, and never leaves 0 to 1.
- Means: Student's t.
- Ratios of sums over episodes: bootstrap over episodes.
- Two runs of the same episodes, success: McNemar's exact test. Only the episodes in which the runs
  differ are informative, and the number won by one run is binomial; no approximation is used, since
  there are few of them.
- Two runs, any other value: a sign-flip test of the mean difference, since for equal runs the sign
  of each episode's difference is random. It tests the printed mean itself and allows ties;
  Wilcoxon's test drops episodes without a difference, of which percent complete has many, and tests
  something other than the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from planner.world.errors import PlannerError

CONFIDENCE = 0.95
RESAMPLES = 9_999
# Up to this many differing episodes all sign patterns are enumerated.
EXACT_SIGNS = 16


class Interval(StrEnum):
    """The method of an interval."""

    CLOPPER_PEARSON = "clopper_pearson"
    WILSON = "wilson"
    STUDENT_T = "student_t"
    BOOTSTRAP = "bootstrap"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number over n episodes with its 95 % interval; all None if there is no episode.

    `low` and `high` are None if n is too small.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs of the same n episodes.

    Attributes:
        difference: mean of second minus first, with its interval of Student's t.
        better, worse: episodes in which the second's value is larger, or smaller.
        p: two-sided probability of at least such a difference if the runs were equal.
        test: mcnemar_exact or sign_flip.
    """

    difference: Estimate
    better: int
    worse: int
    p: float
    test: str


def rate(successes: int, n: int) -> Estimate:
    """A rate with the exact binomial interval.

    Raises:
        PlannerError: if there are more successes than episodes.
    """
    if not 0 <= successes <= n:
        raise PlannerError(f"{successes} successes of {n} episodes")
    if n == 0:
        return Estimate(None, None, None, 0, Interval.NONE)
    # Imported here, since it takes a second, which every worker of a run would pay.
    from scipy import stats

    found = stats.binomtest(successes, n).proportion_ci(CONFIDENCE, method="exact")
    return Estimate(successes / n, float(found.low), float(found.high), n, Interval.CLOPPER_PEARSON)


def wilson(successes: int, n: int) -> Estimate:
    """A rate with Wilson's interval: the rates that the score test does not reject.

    Raises:
        PlannerError: if there are more successes than episodes.
    """
    if not 0 <= successes <= n:
        raise PlannerError(f"{successes} successes of {n} episodes")
    if n == 0:
        return Estimate(None, None, None, 0, Interval.NONE)
    share, z = successes / n, NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    middle = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low, high = max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)
    return Estimate(share, low, high, n, Interval.WILSON)


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
    """A statistic of n episodes, with the percentile interval over resampled episodes.

    Args:
        n: number of episodes.
        statistic: its value for episodes by index, which may repeat; None if undefined.
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


def compare(first: Sequence[float], second: Sequence[float], *, binary: bool) -> Comparison:
    """Compares two runs over the same episodes.

    Args:
        first: values of the first run.
        second: of the second run, in the same order.
        binary: whether all values are 0 or 1, such as success.

    Raises:
        PlannerError: if the numbers of episodes differ or are zero.
    """
    if len(first) != len(second) or not first:
        raise PlannerError(f"runs of {len(first)} and {len(second)} episodes cannot be compared")
    differences = [b - a for a, b in zip(first, second, strict=True)]
    better, worse = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    if binary:
        from scipy import stats

        p = 1.0 if better + worse == 0 else float(stats.binomtest(better, better + worse).pvalue)
    else:
        p = _sign_flip(np.array([d for d in differences if d]))
    test = "mcnemar_exact" if binary else "sign_flip"
    return Comparison(mean(differences), better, worse, p, test)


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
