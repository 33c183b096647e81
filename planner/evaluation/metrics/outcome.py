"""What an episode came to: success, percent complete, steps, cycles, and who made what true.

They are defined by PARTNR (PARTNR-3.5, PARTNR-8), and are the measures of every run.
"""

from __future__ import annotations

from planner.evaluation.metrics.measure import (
    COMPLETE_AT_START,
    EFFECTIVE,
    OPENINGS,
    PLACEMENTS,
    SPATIAL,
    STATE_CHANGES,
    Measure,
    done,
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
    able = [(line, call) for line, call in calls if can_do(proposition, call)]
    going_on = [line for line, _ in able if line.started_step < step <= line.ended_step]
    if going_on:
        return going_on[-1]
    carried = [line for line, call in able if _carries(trace, line, call, step)]
    if carried:
        return carried[0]
    before = [line for line, _ in able if line.ended_step <= step]
    return before[-1] if before else None


def can_do(proposition: TracedProposition, call: SkillCall) -> bool:
    """Whether an action can make a proposition count: one that does so to an entity it names."""
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
)
