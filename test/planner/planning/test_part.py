"""Exploring before any planner's first decision."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from planner.planning.part import EXPLORE, ExploreFirst, PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.belief import Belief
from planner.world.house import House
from planner.world.skill import SkillCall, SkillCode, SkillResult

TASK = Task("Bring the cup.", ("agent_0", "agent_1"))
CALL = SkillCall("Navigate", ("table_0",))


@dataclass
class Inner:
    """A planner that navigates, and keeps what it observes."""

    name: str = "inner"
    seen: list[AgentResult] = field(default_factory=list)

    async def decide(self, context: Context) -> Decision:
        return Decision(dict.fromkeys(context.idle, CALL))

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self.seen += results


@pytest.fixture
def context(small_house: House) -> Context:
    return Context(TASK, Belief(0.0, 0, {}), small_house.layout, {}, {}, TASK.agents, 0.0)


def ended(call: SkillCall, result: SkillResult) -> AgentResult:
    return AgentResult("agent_0", call, result, 1.0)


def test_the_first_agent_explores_and_then_the_planner_decides(context: Context) -> None:
    inner = Inner()
    planner = ExploreFirst(inner, TASK)
    assert planner.name == "inner"
    assert asyncio.run(planner.decide(context)).calls == {"agent_0": EXPLORE}
    waiting = replace(context, idle=("agent_1",), running={"agent_0": EXPLORE})
    assert asyncio.run(planner.decide(waiting)).calls == {}
    planner.observe((ended(EXPLORE, SkillResult.success()),))
    assert asyncio.run(planner.decide(context)).calls == dict.fromkeys(TASK.agents, CALL)
    planner.observe((ended(CALL, SkillResult.success()),))
    # It did not ask for exploring, and is not told of it.
    assert [each.call for each in inner.seen] == [CALL]


def test_a_house_that_cannot_be_explored_ends_the_task_with_the_reason(context: Context) -> None:
    planner = ExploreFirst(Inner(), TASK)
    asyncio.run(planner.decide(context))
    failed = SkillResult.failure(SkillCode.BACKEND_FAULT, "The map was not updated.")
    planner.observe((ended(EXPLORE, failed),))
    decision = asyncio.run(planner.decide(context))
    assert not decision.calls
    assert "could not be explored" in decision.failure
    assert "The map was not updated." in decision.failure


def test_the_choice_says_whether_to_explore(context: Context) -> None:
    task = replace(TASK, goal={"propositions": []})
    plain = make_planner(PlannerChoice("react"), task, _model())
    first = make_planner(PlannerChoice("react", explores_first=True), task, _model())
    assert not isinstance(plain, ExploreFirst)
    assert asyncio.run(first.decide(context)).calls == {"agent_0": EXPLORE}


def _model():
    from planner.models.teacher import ScriptedModel

    return ScriptedModel([])
