"""HELPER's metrics on TEACh (HELPER-5), also as TEACh's public code computes them.

Goal conditions are the propositions that did not count in the first state; those that did are
neither required nor achieved. The weights make these ratios of sums over episodes, not means: each
function returns an episode's addends.
"""

from __future__ import annotations

from planner.evaluation.metrics.metric import PooledMetric, Portion, attempts, by_name
from planner.evaluation.trace import EpisodeTrace

NOTHING_TO_DO = "vacuous: nothing was to do"
NO_LENGTH = "no person's length was given"


def goal_conditions(trace: EpisodeTrace) -> tuple[int, int]:
    """A_e and T_e: the numbers of achieved and required conditions."""
    open_at_start = [not counted for counted in _at_start(trace)]
    achieved = sum(a and o for a, o in zip(trace.end.satisfied, open_at_start, strict=True))
    return achieved, sum(open_at_start)


def published_goal_conditions(trace: EpisodeTrace) -> tuple[int, int]:
    """As in the public code, which subtracts conditions that held at the start and were broken."""
    required = len(trace.end.satisfied) - sum(_at_start(trace))
    return required - trace.end.satisfied.count(False), required


def _at_start(trace: EpisodeTrace) -> tuple[bool, ...]:
    return trace.progress[0].satisfied if trace.progress else (False,) * len(trace.end.satisfied)


def path_weight(trace: EpisodeTrace, length: int) -> float:
    """w_e = min(1, L* / max(L, L*)): a person's number of actions L*, the robots' L."""
    return length / max(len(attempts(trace)), length)


def goal_condition_success(trace: EpisodeTrace) -> Portion:
    """GC = sum A_e / sum T_e over all episodes (HELPER-5)."""
    achieved, required = goal_conditions(trace)
    return Portion(achieved, required, "" if required else NOTHING_TO_DO)


def weighted_success(trace: EpisodeTrace) -> Portion:
    """PLW SR = sum s_e w_e L*_e / sum L*_e (HELPER-5)."""
    if not goal_conditions(trace)[1]:
        return Portion(0, 0, NOTHING_TO_DO)
    return weighted_success_published(trace)


def weighted_goal_conditions(trace: EpisodeTrace) -> Portion:
    """PLW GC = sum (A_e / T_e) w_e L*_e / sum L*_e (HELPER-5)."""
    achieved, required = goal_conditions(trace)
    return _weighted(trace, achieved / required) if required else Portion(0, 0, NOTHING_TO_DO)


def goal_condition_success_published(trace: EpisodeTrace) -> Portion:
    """GC as in the public code; it can be negative (DEFECT-D13)."""
    return Portion(*published_goal_conditions(trace))


def weighted_success_published(trace: EpisodeTrace) -> Portion:
    """PLW SR as in the public code: includes episodes with nothing to do (DEFECT-D9)."""
    return _weighted(trace, float(trace.end.success))


def weighted_goal_conditions_published(trace: EpisodeTrace) -> Portion:
    """PLW GC as in the public code: 1 if there is nothing to do (DEFECT-D9, DEFECT-D13)."""
    achieved, required = published_goal_conditions(trace)
    return _weighted(trace, achieved / required if required else 1.0)


def _weighted(trace: EpisodeTrace, value: float) -> Portion:
    length = trace.episode.reference.length
    if length is None:
        return Portion(0, 0, NO_LENGTH)
    return Portion(value * path_weight(trace, length) * length, length)


METRICS = by_name(
    *(
        PooledMetric(function.__name__, "TEACh", function)
        for function in (
            goal_condition_success,
            goal_condition_success_published,
            weighted_success,
            weighted_success_published,
            weighted_goal_conditions,
            weighted_goal_conditions_published,
        )
    )
)
