"""Conformance check of metrics.

The metric is computed for two episodes on the embedded simulator: one carried out by `expert`, and
one in which nothing is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from planner.app.embedded_run import backend_agents, prepare_embedded
from planner.app.run_options import RunOptions
from planner.app.trace import traced
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.metrics.metric import Kind, Metric, MetricRecord
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.parts.check import Finding, Report, Verdict, checked
from planner.parts.kinds import METRICS
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.planner_choice import PlannerChoice, make_planner
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

_RANGE = {Kind.RATE: (0.0, 1.0), Kind.SHARE: (0.0, 1.0), Kind.MEAN: (0.0, math.inf)}


class _Idle:
    """A planner that immediately says that it is done."""

    name = "idle"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Ignores the results."""

    async def decide(self, context: Context) -> Decision:
        return Decision({agent: SkillCall(SkillName.DONE) for agent in context.idle})


def check_metric(name: str, house: House, episode: Episode) -> Report:
    """Runs all checks.

    Args:
        name: of the metric.
        house: the episode's.
        episode: with a structured goal.

    Raises:
        PartError: if there is no such metric, or its record cannot be used.
    """
    metric = METRICS.get(name)

    def expert(task: Task) -> Planner:
        return make_planner(PlannerChoice("expert"), task, None)

    busy = _trace(house, episode, expert)
    idle = _trace(house, episode, lambda _: _Idle())
    measures: list[Measure] = []
    findings = [checked("is_named_as_asked_for", lambda: _name(metric, name))]
    for what, trace in (("a_whole_episode", busy), ("an_episode_without_a_call", idle)):
        findings.append(checked(f"measures_{what}", partial(_measured, metric, trace, measures)))
    findings.append(checked("measures_the_same_again", lambda: _repeats(metric, busy)))
    none = all(measure.value is None for measure in measures)
    verdict = Verdict.SKIPPED if none else Verdict.PASSED
    text = "neither episode has what it measures; name another" if none else ""
    findings.append(Finding("has_a_value_for_one_of_them", verdict, text))
    return Report(tuple(findings))


def _trace(house: House, episode: Episode, make: Callable[[Task], Planner]) -> EpisodeTrace:
    builder = TraceBuilder()
    backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
    try:
        run = prepare_embedded(
            backend, house, episode, make, RunOptions(images=False, trace=builder)
        )
        result, planner = run.run(), run.planner.name
    finally:
        backend.close()
    acting = backend_agents(episode)
    return traced(builder, episode, result, planner=planner, seed=episode.seed, acting=acting)


def _name(metric: MetricRecord, name: str) -> str:
    return "" if metric.name == name else f"its name is {metric.name!r}, not {name!r}"


def _measure(metric: MetricRecord, trace: EpisodeTrace) -> Measure:
    if isinstance(metric, Metric):
        return metric.of_episode(trace)
    portion = metric.of_episode(trace)
    if portion.left_out or not portion.whole:
        return Measure(None, portion.left_out or "its whole is 0")
    return Measure(portion.part / portion.whole)


def _measured(metric: MetricRecord, trace: EpisodeTrace, measures: list[Measure]) -> str:
    measure: object = _measure(metric, trace)
    if not isinstance(measure, Measure):
        return f"expected a Measure, got {type(measure).__name__}"
    measures.append(measure)
    if measure.value is None:
        return "" if measure.left_out else "no value, and left_out does not say why"
    low, high = _RANGE[metric.kind] if isinstance(metric, Metric) else (0.0, 1.0)
    inside = math.isfinite(measure.value) and low <= measure.value <= high
    return "" if inside else f"{measure.value} is not between {low:g} and {high:g}"


def _repeats(metric: MetricRecord, trace: EpisodeTrace) -> str:
    first, second = _measure(metric, trace), _measure(metric, trace)
    return "" if first == second else f"{first.value}, then {second.value}"
