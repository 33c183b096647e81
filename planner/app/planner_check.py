"""Conformance checks of planners (`planner.planning.planner.Planner`) and of metrics."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from planner.app.embedded_run import backend_agents, prepare_embedded
from planner.app.run import End, RunResult, traced
from planner.app.run_options import RunOptions
from planner.evaluation.metrics.measure import Measure
from planner.evaluation.metrics.metric import ALL_METRICS, Kind, Metric, MetricRecord
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.models.chat import ChatModel
from planner.parts.calls import roles_of
from planner.parts.check import Finding, Report, Verdict, checked
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import CallError, SkillCall, SkillName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

FREE_TEXT = "Bring me something to read, please."


@dataclass
class _Watched:
    """Wraps a planner and checks its decisions; raises nothing itself."""

    planner: Planner
    problems: list[str] = field(default_factory=list)
    last: Context | None = None

    @property
    def name(self) -> str:
        return self.planner.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.planner.observe(results)

    async def decide(self, context: Context) -> Decision:
        decision = await self.planner.decide(context)
        self.last = context
        self.problems += _problems(decision, context)
        return decision


def _problems(decision: object, context: Context) -> list[str]:
    if not isinstance(decision, Decision):
        return [f"decide: expected a Decision, got {type(decision).__name__}"]
    found = []
    for agent, call in decision.calls.items():
        if agent not in context.idle:
            found.append(f"decide: {agent} is given {call}, but is not idle")
        try:
            expected = len(roles_of(call.name))
        except CallError as error:
            found.append(f"decide: {error}")
            continue
        if len(call.arguments) != expected:
            found.append(f"decide: {call} has {len(call.arguments)} arguments, expected {expected}")
    return found


def check_planner(
    choice: PlannerChoice, house: House, episode: Episode, model: ChatModel | None = None
) -> Report:
    """Runs all checks.

    Args:
        choice: the planner and its options.
        house: the episode's.
        episode: with a structured goal.
        model: for a planner that needs one.

    Raises:
        PlannerError: if there is no such planner, or its model is missing.
    """

    def make(task: Task) -> Planner:
        return make_planner(choice, task, model)

    agents = tuple(placement.uid for placement in episode.agents)
    part = choice.part
    make(Task(episode.instruction, agents, episode.evaluation))
    findings = [checked("is_named_as_asked_for", lambda: _name(make, episode, agents, choice.name))]
    watched: list[_Watched] = []

    def watch(task: Task) -> Planner:
        watched.append(_Watched(make(task)))
        return watched[-1]

    blind = {} if part.reads_pictures(choice.options) else {"renderer": "none"}
    backend = EmbeddedBackend(default_options().model_copy(update=blind))
    try:
        run = prepare_embedded(
            backend,
            house,
            episode,
            watch,
            RunOptions(images=False, all_known=part.needs_full_memory(choice.options)),
        )
        findings.append(checked("ends_an_episode", lambda: _ends(run.run())))
    finally:
        backend.close()
    seen = watched[0]
    findings.append(
        checked("decides_for_idle_agents_with_whole_calls", lambda: _none(seen.problems))
    )
    last = seen.last
    if last is not None:
        findings.append(checked("takes_free_text", lambda: _takes_text(make, last, agents)))
    return Report(tuple(findings))


def _name(
    make: Callable[[Task], Planner], episode: Episode, agents: tuple[str, ...], name: str
) -> str:
    found = make(Task(episode.instruction, agents, episode.evaluation)).name
    return "" if found == name else f"its name is {found!r}, it was asked for as {name!r}"


def _ends(result: RunResult) -> str:
    failed = result.end is End.MODEL_FAULT
    return f"the run ended as {result.end}: {result.reason}" if failed else ""


def _none(problems: list[str]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}" if problems else ""


def _takes_text(make: Callable[[Task], Planner], last: Context, agents: tuple[str, ...]) -> str:
    """Without a goal a planner must give calls, ask, give up in words, or say why it cannot."""
    task = Task(FREE_TEXT, agents)
    context = _fresh(last, task)
    try:
        decision = asyncio.run(make(task).decide(context))
    except PlannerError:
        return ""
    return _none(_problems(decision, context))


def _fresh(last: Context, task: Task) -> Context:
    return Context(
        task=task,
        belief=last.belief,
        layout=last.layout,
        capabilities=last.capabilities,
        running={},
        idle=task.agents,
        now_s=last.now_s,
    )


# Conformance check of metrics.
#
# The metric is computed for two episodes on the embedded simulator: one carried out by `expert`,
# and one in which nothing is done.

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
    metric = ALL_METRICS.get(name)

    def expert(task: Task) -> Planner:
        return make_planner(PlannerChoice("expert"), task, None)

    busy = _trace(house, episode, expert)
    idle = _trace(house, episode, lambda _: _Idle())
    measures: list[Measure] = []
    findings = [checked("is_named_as_asked_for", lambda: _metric_check_name(metric, name))]
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


def _metric_check_name(metric: MetricRecord, name: str) -> str:
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
