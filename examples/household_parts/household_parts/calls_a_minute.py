"""Metric `calls_a_minute`: skill calls started per simulated minute."""

from planner.evaluation.metrics.metric import Kind, Measure, Metric
from planner.evaluation.trace import EpisodeTrace

STEPS_A_MINUTE = 60 * 30


def calls_a_minute(trace: EpisodeTrace) -> Measure:
    """The number of calls divided by the episode's minutes."""
    steps = trace.end.sim_steps
    if not steps:
        return Measure(None, "vacuous: no time passed")
    return Measure(len(trace.calls) * STEPS_A_MINUTE / steps)


METRIC = Metric("calls_a_minute", "household-parts", Kind.MEAN, calls_a_minute)
