"""Conformance checks of planners, metrics and chat models."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from planner.app.embedded_run import backend_agents, prepare_embedded
from planner.app.run import End, RunResult, traced
from planner.app.run_options import RunOptions
from planner.evaluation.metrics.metric import ALL_METRICS, Kind, Measure, Metric, MetricRecord
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder
from planner.models.chat import (
    DEADLINE_S,
    ChatModel,
    Completion,
    Message,
    ModelError,
    ModelPart,
    Picture,
    Request,
    Speaker,
)
from planner.models.gbnf import read_grammar
from planner.models.model_choice import ModelChoice, open_model
from planner.parts.calls import roles_of
from planner.parts.catalog import Finding, Report, Verdict, checked
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


# Conformance check of chat models.

GRAMMAR = 'root ::= "yes" | "no"\n'
_QUESTION = Message(Speaker.USER, "Is a cup a thing? Answer yes or no.")
_REQUEST = Request((Message(Speaker.SYSTEM, "Be short."), _QUESTION), max_tokens=16, seed=1)
_SIDE_PX = 384
# Returns "" on success, otherwise what is wrong.
_Check = Callable[[ChatModel], Awaitable[str]]


class _NotPromisedError(Exception):
    """A capability that the model's record does not claim; the text names it."""


@dataclass(frozen=True, slots=True)
class _Checks:
    part: ModelPart
    request: Request

    def all(self) -> dict[str, _Check]:
        """All checks by name, in order."""
        return {
            "has_a_name": self.has_a_name,
            "answers": self.answers,
            "ends_at_stop_strings": self.ends_at_stop_strings,
            "keeps_the_grammar": self.keeps_the_grammar,
            "keeps_max_tokens": self.keeps_max_tokens,
            "sees_pictures": self.sees_pictures,
            "answers_several_at_once": self.answers_several_at_once,
            "is_late_with_a_model_error": self.is_late_with_a_model_error,
            "can_be_cancelled": self.can_be_cancelled,
            "closes_twice": self.closes_twice,
        }

    async def has_a_name(self, model: ChatModel) -> str:
        found: object = model.name
        return "" if isinstance(found, str) and found else f"its name is {found!r}"

    async def answers(self, model: ChatModel) -> str:
        return _problem(await model.complete(self.request))

    async def ends_at_stop_strings(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, stop=("e", "o", "\n")))
        cut = not set(answer.text) & set("eo\n")
        return _problem(answer) or ("" if cut else f"{answer.text!r} goes past a stop string")

    async def keeps_the_grammar(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, grammar=GRAMMAR))
        if read_grammar(GRAMMAR).accepts(answer.text):
            return _problem(answer)
        if not self.part.holds_grammar:
            raise _NotPromisedError(f"it said {answer.text[:80]!r}; its record does not promise it")
        return f"{answer.text[:80]!r} is not of the grammar {GRAMMAR.strip()}"

    async def keeps_max_tokens(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, max_tokens=1))
        count = answer.usage.reply_tokens
        if count > 1 and self.part.per_episode:
            raise _NotPromisedError("its answers are given")
        return _problem(answer) or ("" if count <= 1 else f"{count} tokens, expected at most 1")

    async def sees_pictures(self, model: ChatModel) -> str:
        if not self.part.takes_pictures:
            raise _NotPromisedError("its record says that it takes none")
        picture = Picture.of(np.full((_SIDE_PX, _SIDE_PX, 3), 127, np.uint8))
        prompt = replace(_QUESTION, pictures=(picture,))
        return _problem(await model.complete(replace(self.request, messages=(prompt,))))

    async def answers_several_at_once(self, model: ChatModel) -> str:
        requests = [replace(self.request, seed=seed) for seed in range(3)]
        answers = await asyncio.gather(*(model.complete(request) for request in requests))
        return next((problem for answer in answers if (problem := _problem(answer))), "")

    async def is_late_with_a_model_error(self, model: ChatModel) -> str:
        try:
            await model.complete(replace(self.request, deadline_s=1e-6))
        except ModelError:
            return ""
        return ""

    async def can_be_cancelled(self, model: ChatModel) -> str:
        task = asyncio.ensure_future(model.complete(self.request))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return ""
        return ""

    async def closes_twice(self, model: ChatModel) -> str:
        await model.close()
        await model.close()
        return ""


def check_model(choice: ModelChoice, deadline_s: float = DEADLINE_S) -> Report:
    """Runs all checks.

    Args:
        choice: the model, as parameters name it.
        deadline_s: for each answer.

    Raises:
        PlannerError: if the model cannot be made.
    """
    return asyncio.run(_checked(choice, deadline_s))


async def _checked(choice: ModelChoice, deadline_s: float) -> Report:
    part = choice.part
    model = open_model(choice)
    findings = []
    for name, check in _Checks(part, replace(_REQUEST, deadline_s=deadline_s)).all().items():
        if part.per_episode:
            # A scripted model runs out of answers, so each check gets a new one.
            model = open_model(choice)
        findings.append(await _found(name, check, model, part))
    return Report(tuple(findings))


async def _found(name: str, check: _Check, model: ChatModel, part: ModelPart) -> Finding:
    try:
        problem = await check(model)
    except _NotPromisedError as skipped:
        return Finding(name, Verdict.SKIPPED, str(skipped))
    except ModelError as error:
        skipped_here = part.per_episode or part.reads_goal
        text = f"its answers are given: {error}" if skipped_here else f"no answer: {error}"
        return Finding(name, Verdict.SKIPPED if skipped_here else Verdict.FAILED, text)
    except Exception as error:
        # Any other exception is a finding, not the end of the check.
        problem = f"raised {error!r}, expected a ModelError"
    return Finding(name, Verdict.FAILED if problem else Verdict.PASSED, problem)


def _problem(answer: object) -> str:
    if not isinstance(answer, Completion):
        return f"complete: expected a Completion, got {type(answer).__name__}"
    text: object = answer.text
    if not isinstance(text, str):
        return f"text: expected str, got {type(text).__name__}"
    if answer.finish not in ("stop", "length"):
        return f"finish: expected stop or length, got {answer.finish!r}"
    usage = answer.usage
    low = min(usage.prompt_tokens, usage.cached_tokens, usage.reply_tokens)
    return "" if low >= 0 else f"usage: {usage} has a number below 0"
