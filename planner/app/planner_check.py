"""Conformance check of planners (`planner.planning.planner.Planner`).

The planner carries out an episode on the embedded simulator in this process, as in benchmarks, and
each of its decisions is checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from planner.app.embedded_run import prepare_embedded
from planner.app.run import End, RunResult
from planner.app.run_options import RunOptions
from planner.models.chat import ChatModel
from planner.parts.calls import roles_of
from planner.parts.check import Report, checked
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.planner_choice import PlannerChoice, make_planner
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import CallError
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

    blind = {} if part.wants_pictures(choice.options) else {"renderer": "none"}
    backend = EmbeddedBackend(default_options().model_copy(update=blind))
    try:
        run = prepare_embedded(
            backend,
            house,
            episode,
            watch,
            RunOptions(images=False, all_known=part.needs_full_memory),
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
