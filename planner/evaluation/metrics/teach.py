"""The metrics of HELPER on TEACh (HELPER-5).

Goal conditions are the propositions that did not count in the first state; those that did are
neither required nor achieved. Weights make sums over episodes of them, not means: the functions
here take all episodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.metrics.measure import Measure, attempts
from planner.evaluation.metrics.metric import PooledMetric
from planner.evaluation.trace import EpisodeTrace

NOTHING_TO_DO = "vacuous: nothing was to do"
NO_LENGTH = "no person's length was given"


def goal_conditions(trace: EpisodeTrace) -> tuple[int, int]:
    """A_e and T_e: how many were achieved, how many required."""
    at_start = trace.progress[0].satisfied if trace.progress else ()
    open_at_start = [not counted for counted in at_start] or [True] * len(trace.end.satisfied)
    achieved = sum(a and o for a, o in zip(trace.end.satisfied, open_at_start, strict=True))
    return achieved, sum(open_at_start)


def path_weight(trace: EpisodeTrace) -> float | None:
    """w_e = min(1, L* / max(L, L*)): a person's number of actions to the robots' (5).

    None where L* is unknown.
    """
    length = trace.episode.reference.length
    return None if length is None else length / max(len(attempts(trace)), length)


def left_out(trace: EpisodeTrace, *, weighted: bool) -> str:
    """Why an episode has no share in a metric; "" where it has.

    With T_e = 0 the public code takes the ratio as 1, which is marked as vacuous (DEFECT-D9).
    """
    if goal_conditions(trace)[1] == 0:
        return NOTHING_TO_DO
    return NO_LENGTH if weighted and trace.episode.reference.length is None else ""


def goal_condition_success(traces: Sequence[EpisodeTrace]) -> Measure:
    """GC = sum A_e / sum T_e over all episodes (HELPER-5)."""
    counts = [goal_conditions(t) for t in traces if not left_out(t, weighted=False)]
    if not counts:
        return Measure(None, NOTHING_TO_DO)
    return Measure(sum(a for a, _ in counts) / sum(t for _, t in counts))


def weighted_success(traces: Sequence[EpisodeTrace]) -> Measure:
    """PLW SR = sum s_e w_e L*_e / sum L*_e (HELPER-5)."""
    return _weighted([(t, float(t.end.success)) for t in traces])


def weighted_goal_conditions(traces: Sequence[EpisodeTrace]) -> Measure:
    """PLW GC = sum (A_e / T_e) w_e L*_e / sum L*_e (HELPER-5)."""
    shares = [(t, *goal_conditions(t)) for t in traces]
    return _weighted([(t, done / asked if asked else 0.0) for t, done, asked in shares])


def _weighted(values: Sequence[tuple[EpisodeTrace, float]]) -> Measure:
    total, weights = 0.0, 0
    for trace, value in values:
        weight, length = path_weight(trace), trace.episode.reference.length
        if weight is None or length is None or left_out(trace, weighted=True):
            continue
        total += value * weight * length
        weights += length
    return Measure(total / weights) if weights else Measure(None, NO_LENGTH)


def _weighted_share(trace: EpisodeTrace) -> str:
    return left_out(trace, weighted=True)


def _plain_share(trace: EpisodeTrace) -> str:
    return left_out(trace, weighted=False)


METRICS = (
    PooledMetric("goal_condition_success", "TEACh", goal_condition_success, _plain_share),
    PooledMetric("weighted_success", "TEACh", weighted_success, _weighted_share),
    PooledMetric("weighted_goal_conditions", "TEACh", weighted_goal_conditions, _weighted_share),
)
