"""EPM's metrics of one episode beside PARTNR's (spec/epm.md 5)."""

from __future__ import annotations

from planner.evaluation.metrics.measure import Measure, attempts
from planner.evaluation.metrics.partnr import success
from planner.evaluation.trace import EpisodeTrace

NO_CALL = "vacuous: no skill was called"


def skill_success(trace: EpisodeTrace) -> Measure:
    """Skill success: successful skill calls / all skill calls (spec/epm.md 5).

    Wait, Done and the perception tools cannot fail and do not count; calls that were cancelled
    count neither way.
    """
    tried = attempts(trace)
    if not tried:
        return Measure(None, NO_CALL)
    return Measure(sum(line.succeeded for line in tried) / len(tried))


def no_skill_failure(trace: EpisodeTrace) -> Measure:
    """1 where no skill call failed; its mean is the share of such episodes (spec/epm.md 5)."""
    tried = attempts(trace)
    if not tried:
        return Measure(None, NO_CALL)
    return Measure(float(all(line.succeeded for line in tried)))


def success_after_failure(trace: EpisodeTrace) -> Measure:
    """Success of an episode in which at least one skill call failed (spec/epm.md 5)."""
    if all(line.succeeded for line in attempts(trace)):
        return Measure(None, "no skill call failed")
    return success(trace)


def length_class(trace: EpisodeTrace, short: int = 13, long: int = 26) -> str:
    """Short, medium or long by the number of skill calls (spec/epm.md 5, Table 10).

    Below 13 is short, above 26 long; the paper's "13 to 16" for medium is taken as a misprint.
    """
    count = len(attempts(trace))
    if count < short:
        return "short"
    return "long" if count > long else "medium"
