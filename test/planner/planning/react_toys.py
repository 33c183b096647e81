"""A dialogue of `react` with scripted replies, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from planning_toys import ToyWorld, capabilities

from planner.models.teacher import ScriptedModel
from planner.planning.dialogues import AgentDialogues, make_react
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_model import DialogueOptions
from planner.world.skill import SkillCall, SkillResult
from planner.world.vocabulary import AgentKind

Make = Callable[..., ToyWorld]
DELTAS = ["Add Object.149: candle with the Object.119", "Remove Object.157"]


def context(world: ToyWorld, *idle: str, deltas: Sequence[str] = ()) -> Context:
    agents = tuple(world.agents)
    return Context(
        task=Task("Tidy the kitchen.", agents),
        belief=world.belief(),
        layout=world.house,
        capabilities={name: capabilities(kind) for name, kind in world.agents.items()},
        running={},
        idle=idle or agents,
        now_s=0.0,
        deltas=lambda since: deltas,
    )


def one_robot(toy_world: Make) -> ToyWorld:
    return toy_world(agents={"agent_0": AgentKind.ROBOT})


def react(world: ToyWorld, *replies: str, **options: int) -> tuple[AgentDialogues, ScriptedModel]:
    model = ScriptedModel(replies)
    task = Task("Tidy the kitchen.", tuple(world.agents))
    return make_react(task, model, DialogueOptions(**options)), model  # type: ignore[arg-type]


def decide(planner: AgentDialogues, now: Context) -> Decision:
    return asyncio.run(planner.decide(now))


def ended(call: str, result: SkillResult | None = None) -> tuple[AgentResult, ...]:
    parsed = SkillCall(call.partition("[")[0], ())
    return (AgentResult("agent_0", parsed, result or SkillResult.success(), 1.0),)
