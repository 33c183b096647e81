"""PARTNR's metrics of cooperation and effort (PARTNR-8, PARTNR-D59 to PARTNR-D61)."""

from __future__ import annotations

from planner.evaluation.metrics.measure import (
    COMPLETE_AT_START,
    EFFECTIVE,
    NOT_SUCCESSFUL,
    Measure,
    can_do,
    doer_of,
    done,
    parsed,
    robots,
)
from planner.evaluation.metrics.metric import Kind, Metric, by_name
from planner.evaluation.trace import CallLine, EpisodeTrace
from planner.world.skill import SkillName


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
    call = parsed(line)
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
