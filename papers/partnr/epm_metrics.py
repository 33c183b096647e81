"""EPM's metrics of one episode, in addition to PARTNR's (EPM-5)."""

from __future__ import annotations

from planner.evaluation.metrics.measure import (
    COMPLETE_AT_START,
    OPENINGS,
    PLACEMENTS,
    SPATIAL,
    STATE_CHANGES,
    Measure,
    attempts,
    parsed,
)
from planner.evaluation.metrics.metric import Kind, Metric, by_name
from planner.evaluation.metrics.outcome import success
from planner.evaluation.task import Predicate, asked_open, asked_state
from planner.evaluation.trace import EpisodeTrace, TracedProposition
from planner.world.skill import SkillCall, SkillCode, SkillName

NO_CALL = "vacuous: no skill was called"


# Failures during execution; all other codes mean that the call itself was a mistake.
_OF_CARRYING_OUT = frozenset(
    {
        SkillCode.UNREACHABLE,
        SkillCode.NO_PLACEMENT,
        SkillCode.GRASP_FAILED,
        SkillCode.TIMED_OUT,
        SkillCode.BLOCKED,
        SkillCode.BACKEND_FAULT,
    }
)


def skill_success(trace: EpisodeTrace) -> Measure:
    """Skill success: successful skill calls / all skill calls (EPM-5).

    Wait, Done and the perception tools cannot fail and do not count; cancelled calls are ignored.
    """
    tried = attempts(trace)
    if not tried:
        return Measure(None, NO_CALL)
    return Measure(sum(line.succeeded for line in tried) / len(tried))


def no_skill_failure(trace: EpisodeTrace) -> Measure:
    """1 if no skill call failed; its mean is the share of such episodes (EPM-5)."""
    tried = attempts(trace)
    if not tried:
        return Measure(None, NO_CALL)
    return Measure(float(all(line.succeeded for line in tried)))


def success_after_failure(trace: EpisodeTrace) -> Measure:
    """Success of an episode in which at least one skill call failed (EPM-5)."""
    if all(line.succeeded for line in attempts(trace)):
        return Measure(None, "no skill call failed")
    return success(trace)


def execution_success(trace: EpisodeTrace) -> Measure:
    """Execution success: 1 if the world reached the goal state (EPM-5, EPM-C41).

    In the goal state all propositions count. Vacuous if they did in the first state.
    """
    return success(trace)


def planning_success(trace: EpisodeTrace) -> Measure:
    """Planning success: 1 if the plan was right even if a skill failed (EPM-5).

    The paper judged this manually. Here a plan was right if the goal was reached, or if for each
    proposition that does not count the robot itself failed at a call that would have achieved it:
    one that takes, places or changes an entity that the proposition names, at the place it names,
    and that failed in execution rather than for being an impossible request.
    Vacuous if all counted in the first state, or no skill was called.
    """
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    if not attempts(trace):
        return Measure(None, NO_CALL)
    failed = [
        call
        for line in attempts(trace)
        if line.code in _OF_CARRYING_OUT and (call := parsed(line)) is not None
    ]
    proposition = zip(trace.episode.propositions, trace.end.satisfied, strict=True)
    was_tried = (
        any(_is_for(call, goal) for call in failed) for goal, counts in proposition if not counts
    )
    return Measure(float(trace.end.success or (bool(trace.end.satisfied) and all(was_tried))))


def _is_for(call: SkillCall, proposition: TracedProposition) -> bool:
    """Whether a call serves a proposition, or takes an object for it."""
    if not call.arguments:
        return False
    thing = call.arguments[0]
    lists = proposition.lists if proposition.predicate in SPATIAL else proposition.lists[:1]
    if not any(thing in names for names in lists):
        return False
    if asked_state(proposition.predicate) is not None:
        return call.name in STATE_CHANGES
    if asked_open(proposition.predicate) is not None:
        return call.name in OPENINGS
    if call.name in PLACEMENTS:
        on_or_in = proposition.predicate in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE)
        return not on_or_in or call.arguments[2] in proposition.lists[1]
    return call.name in (SkillName.PICK, SkillName.NAVIGATE)


METRICS = by_name(
    Metric("skill_success", "EPM", Kind.SHARE, skill_success),
    Metric("no_skill_failure", "EPM", Kind.RATE, no_skill_failure),
    Metric("success_after_failure", "EPM", Kind.RATE, success_after_failure),
    Metric("planning_success", "EPM", Kind.RATE, planning_success),
    Metric("execution_success", "EPM", Kind.RATE, execution_success),
)
