"""PARTNR's metrics of cooperation and effort (PARTNR-8, PARTNR-D59 to PARTNR-D61), and EPM's."""

from __future__ import annotations

from planner.evaluation.metrics.metric import (
    COMPLETE_AT_START,
    EFFECTIVE,
    NOT_SUCCESSFUL,
    OPENINGS,
    PLACEMENTS,
    SPATIAL,
    STATE_CHANGES,
    Kind,
    Measure,
    Metric,
    attempts,
    by_name,
    can_do,
    doer_of,
    done,
    robots,
    success,
)
from planner.evaluation.task import Predicate, asked_open, asked_state
from planner.evaluation.trace import CallLine, EpisodeTrace, TracedProposition
from planner.parts.calls import acted_call
from planner.world.skill import SkillCall, SkillCode, SkillName


def task_offloading(trace: EpisodeTrace) -> Measure:
    """Task offloading: sub-tasks done by robots / sub-tasks done.

    PARTNR-8, PARTNR-D60, PARTNR-D61. A sub-task is a proposition of a successful episode, credited
    to the agent whose action made it count; those that no action made true are ignored.
    """
    if len(trace.episode.agents) < 2 or len(robots(trace)) in (0, len(trace.episode.agents)):
        return Measure(None, "no person and robot work together")
    if not_counted := _outside(trace):
        return Measure(None, not_counted)
    doers = [who for i in range(len(trace.end.satisfied)) if (who := doer_of(trace, i))]
    if not doers:
        return Measure(None, "vacuous: nobody's action made anything true")
    return Measure(sum(who in robots(trace) for who in doers) / len(doers))


def extraneous_effort(trace: EpisodeTrace) -> Measure:
    """Extraneous effort: successful actions that did not raise percent complete / all successful.

    PARTNR-8, PARTNR-D59: of Place, Rearrange, Clean, Fill, Pour, PowerOn and PowerOff; an action is
    useful if percent complete is higher after it than before. Successful episodes only.
    """
    if not_counted := _outside(trace):
        return Measure(None, not_counted)
    actions = [line for line, _ in done(trace, EFFECTIVE)]
    if not actions:
        return Measure(None, "vacuous: no action that could help")
    return Measure(sum(not is_useful(trace, line) for line in actions) / len(actions))


def exploration_efficiency(trace: EpisodeTrace) -> Measure:
    """Exploration efficiency: simulation steps until the first object is picked.

    PARTNR-8. The step at which the first Pick ends, or at which a Rearrange has picked its
    object. Successful episodes only.
    """
    if not_counted := _outside(trace):
        return Measure(None, not_counted)
    picked = [line.ended_step for line, _ in done(trace, frozenset({SkillName.PICK}))]
    for line, _ in done(trace, frozenset({SkillName.REARRANGE})):
        held = [
            hold.step
            for hold in trace.holds
            if hold.entity
            and hold.agent == line.agent
            and line.started_step <= hold.step <= line.ended_step
        ]
        picked.append(min(held, default=line.ended_step))
    if not picked:
        return Measure(None, "vacuous: nothing was picked")
    return Measure(float(min(picked)))


def _outside(trace: EpisodeTrace) -> str:
    """Why an episode is not a successful one; "" if it is."""
    if trace.complete_at_start:
        return COMPLETE_AT_START
    return "" if trace.end.success else NOT_SUCCESSFUL


def is_useful(trace: EpisodeTrace, line: CallLine) -> bool:
    """Whether percent complete is higher after an action than before it (PARTNR-D59).

    An object carried over its table is already on top of it (PARTNR-D13) before it is put down, so
    taken literally no Place would be useful. Propositions that start to count for a held object are
    therefore credited to its Place, if percent complete is then higher than before the object was
    picked, as for a Rearrange, which does both. This departs from the letter of PARTNR-D59.
    """
    after = trace.percent_at(line.ended_step)
    if after > trace.percent_at(line.started_step):
        return True
    call = acted_call(line.call)
    if call is None or call.name != SkillName.PLACE:
        return False
    grasps = [
        hold.step
        for hold in trace.holds
        if (hold.agent, hold.entity) == (line.agent, call.arguments[0])
        and hold.step <= line.started_step
    ]
    if not grasps or after <= trace.percent_at(max(0, grasps[-1] - 1)):
        return False
    return any(
        step is not None and grasps[-1] < step <= line.ended_step and can_do(proposition, call)
        for step, proposition in zip(trace.end.first_steps, trace.episode.propositions, strict=True)
    )


METRICS = by_name(
    Metric("task_offloading", "PARTNR", Kind.SHARE, task_offloading),
    Metric("extraneous_effort", "PARTNR", Kind.SHARE, extraneous_effort),
    Metric("exploration_efficiency", "PARTNR", Kind.MEAN, exploration_efficiency),
)


# EPM's metrics of one episode, in addition to PARTNR's (EPM-5).

NO_CALL = "vacuous: no skill was called"


# Failures during execution; all other codes mean that the call itself was a mistake.
_OF_CARRYING_OUT = frozenset({
    SkillCode.UNREACHABLE, SkillCode.NO_PLACEMENT, SkillCode.GRASP_FAILED, SkillCode.TIMED_OUT,
    SkillCode.BLOCKED, SkillCode.BACKEND_FAULT,
})  # fmt: skip


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
        if line.code in _OF_CARRYING_OUT and (call := acted_call(line.call)) is not None
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


EPM_METRICS = by_name(
    Metric("skill_success", "EPM", Kind.SHARE, skill_success),
    Metric("no_skill_failure", "EPM", Kind.RATE, no_skill_failure),
    Metric("success_after_failure", "EPM", Kind.RATE, success_after_failure),
    Metric("planning_success", "EPM", Kind.RATE, planning_success),
    Metric("execution_success", "EPM", Kind.RATE, execution_success),
)
