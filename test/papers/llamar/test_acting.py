"""The baselines Act, ReAct and CoT with a scripted model."""

from __future__ import annotations

import json

import pytest
from llamar_toys import Kitchen, Literal, RoleScript

from papers.llamar.actor_role import Style
from papers.llamar.joint_planner import Asking, JointPlanner
from papers.llamar.llamar import make_acting
from planner.models.chat import Role
from planner.models.gbnf import read_grammar
from planner.planning.planner import Task
from planner.world.topics import InstructionCode

TASK = Task("Put the apple in the fridge.", ("agent_0", "agent_1"))
FIRST = {"Alice": "NavigateTo(Apple_1)", "Bob": "navigate to object Fridge_1"}
LAST = {"Alice": "Done", "Bob": "Done"}


def written(style: Style, actions: dict[str, str]) -> str:
    match style:
        case Style.ACT:
            return json.dumps(actions)
        case Style.REACT:
            return json.dumps({"Think": "near", "Action": actions})
        case Style.COT:
            return json.dumps({"reason": "all of it", **actions})


def made(style: Style, script: RoleScript, horizon: int = 30) -> JointPlanner:
    asking = Asking(f"llamar_{style}", script, TASK.agents)
    return make_acting(style, TASK, asking, Literal(), horizon=horizon)


@pytest.mark.parametrize("style", Style)
def test_one_call_a_step_until_all_are_done(kitchen: Kitchen, style: Style) -> None:
    script = RoleScript(planner=[written(style, FIRST), written(style, LAST)])
    end = kitchen.run(made(style, script), TASK)
    assert kitchen.log == [("agent_0", "NavigateTo[apple_13]"), ("agent_1", "NavigateTo[fridge_0]")]
    assert script.roles == [Role.PLANNER, Role.PLANNER]
    assert (end.failure, end.evidence["joint_steps"]) == ("", "2")
    said = json.loads(written(style, FIRST))
    grammar = read_grammar(script.requests[0].grammar)
    assert grammar.accepts(json.dumps(said, separators=(",", ":")))


@pytest.mark.parametrize("style", Style)
def test_the_prompt_has_the_trace_of_all_steps(kitchen: Kitchen, style: Style) -> None:
    failing = kitchen.failing("agent_0")
    script = RoleScript(planner=[written(style, FIRST)])
    end = failing.run(made(style, script, horizon=3), TASK)
    assert end.end is InstructionCode.CALL_LIMIT
    prompts = script.fields(Role.PLANNER)
    assert prompts[0]["Robots' steps so far"] == "None"
    steps = json.loads(prompts[2]["Robots' steps so far"])
    assert [step[:7] for step in steps] == ["step 1:", "step 2:"]
    assert "Alice: navigate to object Apple_1: failed" in steps[0]
    assert "Bob: navigate to object Fridge_1: success" in steps[0]
    assert list(prompts[0]) == [
        "Task",
        "Alice's observation",
        "Alice's state",
        "Bob's observation",
        "Bob's state",
        "Robots' steps so far",
    ]


def test_a_reply_that_cannot_be_read_costs_a_step_of_all(kitchen: Kitchen) -> None:
    script = RoleScript(planner=[*["Ja, gern."] * 3, written(Style.ACT, LAST)])
    end = kitchen.run(made(Style.ACT, script), TASK)
    assert kitchen.log == [("agent_0", "Wait[]"), ("agent_1", "Wait[]")]
    assert end.evidence["unread_replies"] == "1"
