"""PARTNR's metrics of one episode (PARTNR-8, PARTNR-D59 to PARTNR-D62)."""

from __future__ import annotations

from planner.evaluation.metrics.measure import (
    COMPLETE_AT_START,
    EFFECTIVE,
    NOT_SUCCESSFUL,
    OPENINGS,
    PLACEMENTS,
    SPATIAL,
    STATE_CHANGES,
    Measure,
    done,
    parsed,
    robots,
)
from planner.evaluation.metrics.metric import Kind, Metric, by_name
from planner.evaluation.task import asked_open, asked_state
from planner.evaluation.trace import CallLine, EpisodeTrace, TracedProposition
from planner.world.skill import SkillCall, SkillName


def percent_complete(trace: EpisodeTrace) -> Measure:
    """Percent complete: propositions that count / all propositions (PARTNR-3.5).

    Vacuous if everything counted in the first state.
    """
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    return Measure(trace.end.percent_complete)


def success(trace: EpisodeTrace) -> Measure:
    """Success: 1 if percent complete is 1, else 0 (PARTNR-3.5); its mean is SR.

    Vacuous if everything counted in the first state.
    """
    if trace.complete_at_start:
        return Measure(None, COMPLETE_AT_START)
    return Measure(float(trace.end.success))


def sim_steps(trace: EpisodeTrace) -> Measure:
    """Simulation steps from the start to the end of the episode (PARTNR-8)."""
    return Measure(float(trace.end.sim_steps))


def planning_cycles(trace: EpisodeTrace) -> Measure:
    """Planning cycles: model calls of the planner (PARTNR-8, PARTNR-D62).

    A decision that took several attempts is one cycle. If every agent has a planner of its own,
    only the robot's count. Not applicable to planners without a model.
    """
    cycles = {(d.agents, d.cycle) for d in trace.decisions if d.model}
    if not cycles:
        return Measure(None, "no model decided")
    counted = {c for c in cycles if robots(trace) & set(c[0])} or cycles
    planners = {agents for agents, _ in counted}
    return Measure(len(counted) / len(planners))


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
        step is not None and grasps[-1] < step <= line.ended_step and _can_do(proposition, call)
        for step, proposition in zip(trace.end.first_steps, trace.episode.propositions, strict=True)
    )


def doer_of(trace: EpisodeTrace, index: int) -> str:
    """The agent whose action first made a proposition count; "" if none did (PARTNR-D60).

    Considers actions that can do so to an entity that the proposition names, in this order: the one
    in progress; the next one by which the agent put down what it held at that step (an object
    carried over a table is already on top of it); the last one before, since a relation or a gate
    may come true through something else. For a spatial relation, the last placement.
    """
    cause = _cause(trace, index)
    return cause.agent if cause is not None else ""


def _cause(trace: EpisodeTrace, index: int) -> CallLine | None:
    step, proposition = trace.end.first_steps[index], trace.episode.propositions[index]
    if step is None:
        return None
    calls = done(trace, EFFECTIVE | OPENINGS)
    able = [(line, call) for line, call in calls if _can_do(proposition, call)]
    going_on = [line for line, _ in able if line.started_step < step <= line.ended_step]
    if going_on:
        return going_on[-1]
    carried = [line for line, call in able if _carries(trace, line, call, step)]
    if carried:
        return carried[0]
    before = [line for line, _ in able if line.ended_step <= step]
    return before[-1] if before else None


def _can_do(proposition: TracedProposition, call: SkillCall) -> bool:
    lists = proposition.lists if proposition.predicate in SPATIAL else proposition.lists[:1]
    able = STATE_CHANGES if asked_state(proposition.predicate) is not None else PLACEMENTS
    if asked_open(proposition.predicate) is not None:
        able = OPENINGS
    return call.name in able and any(call.arguments[0] in names for names in lists)


def _carries(trace: EpisodeTrace, line: CallLine, call: SkillCall, step: int) -> bool:
    if line.ended_step < step or call.name != SkillName.PLACE:
        return False
    holds = (hold for hold in trace.holds if hold.agent == line.agent and hold.step <= step)
    return call.arguments[0] in {hold.hand: hold.entity for hold in holds}.values()


METRICS = by_name(
    Metric("success", "PARTNR", Kind.RATE, success),
    Metric("percent_complete", "PARTNR", Kind.SHARE, percent_complete),
    Metric("sim_steps", "PARTNR", Kind.MEAN, sim_steps),
    Metric("planning_cycles", "PARTNR", Kind.MEAN, planning_cycles),
    Metric("task_offloading", "PARTNR", Kind.SHARE, task_offloading),
    Metric("extraneous_effort", "PARTNR", Kind.SHARE, extraneous_effort),
    Metric("exploration_efficiency", "PARTNR", Kind.MEAN, exploration_efficiency),
)
