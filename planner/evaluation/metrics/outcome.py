"""What an episode came to: success, percent complete, steps and planning cycles.

They are defined by PARTNR (PARTNR-3.5, PARTNR-8), and are the measures of every run.
"""

from __future__ import annotations

from planner.evaluation.metrics.measure import COMPLETE_AT_START, Measure, robots
from planner.evaluation.metrics.metric import Kind, Metric, by_name
from planner.evaluation.trace import EpisodeTrace


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


METRICS = by_name(
    Metric("success", "PARTNR", Kind.RATE, success),
    Metric("percent_complete", "PARTNR", Kind.SHARE, percent_complete),
    Metric("sim_steps", "PARTNR", Kind.MEAN, sim_steps),
    Metric("planning_cycles", "PARTNR", Kind.MEAN, planning_cycles),
)
