"""CoELA: every agent decides for itself, by what it saw and what the others said."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from llamar_toys import Kitchen, RoleScript

from papers.llamar.actions import INTERACTIONS, Repertoire, parse_action
from papers.llamar.coela import SEND, make_coela, names_in_view
from papers.llamar.joint_planner import Asking, JointPlanner
from papers.llamar.state import AgentView
from papers.llamar.team import ActionOptions, every_action
from planner.models.caller import ModelCall
from planner.models.chat import Role
from planner.models.gbnf import read_grammar
from planner.planning.planner import Task
from planner.world.topics import InstructionCode

TASK = Task("Put the apple in the fridge.", ("agent_0", "agent_1"))
SILENT = json.dumps({"message": None})
PLANNER, MESSENGER = Role.PLANNER, Role.MESSENGER


def talk(text: str) -> str:
    return json.dumps({"message": text})


def chosen(option: str | int) -> str:
    return json.dumps({"reason": "r", "choice": option})


def by_name(**choices: str | int) -> object:
    """A script that replies for whoever is asked."""

    def reply(fields: Mapping[str, str]) -> str:
        name = next(key.partition("'")[0] for key in fields if key.endswith("'s observation"))
        return chosen(choices[name])

    return reply


def made(
    script: RoleScript, calls: list[ModelCall] | None = None, horizon: int = 30, task: Task = TASK
) -> JointPlanner:
    heard = calls if calls is not None else []
    asking = Asking("llamar_coela", script, task.agents, on_call=heard.append)
    return make_coela(task, asking, horizon=horizon)


def of(script: RoleScript, role: Role, name: str) -> list[dict[str, str]]:
    """The fields of one agent's prompts."""
    return [f for f in script.fields(role) if f"{name}'s observation" in f]


def test_each_agent_is_asked_for_itself_and_acts_in_joint_steps(kitchen: Kitchen) -> None:
    calls: list[ModelCall] = []
    script = RoleScript(
        messenger=[SILENT],
        planner=[
            chosen("navigate to object Apple_1"),
            chosen("rotate in Left direction"),
            *[chosen("Done")] * 2,
        ],
    )
    end = kitchen.run(made(script, calls), TASK)
    assert kitchen.log == [("agent_0", "NavigateTo[apple_13]"), ("agent_1", "Rotate[Left]")]
    assert (end.failure, end.thought) == ("", "all agents say that the task is complete")
    assert [(call.role, call.agents) for call in calls[:4]] == [
        (MESSENGER, ("agent_0",)),
        (MESSENGER, ("agent_1",)),
        (PLANNER, ("agent_0",)),
        (PLANNER, ("agent_1",)),
    ]
    assert calls[2].calls == ("NavigateTo[apple_13]",)
    assert calls[2].parameters["agent_0.action"] == "NavigateTo(Apple_1) (1.00)"
    assert calls[2].parameters["choice"] == "navigate to object Apple_1"


@pytest.mark.parametrize("count", range(1, 7))
def test_teams_of_one_to_six(kitchen: Kitchen, count: int) -> None:
    agents = tuple(f"agent_{n}" for n in range(count))
    task = Task("Put the apple in the fridge.", agents)
    script = RoleScript(messenger=[SILENT], planner=[chosen("Done")])
    end = replace(kitchen, agents=agents).run(made(script, task=task), task)
    assert (end.failure, end.evidence["joint_steps"]) == ("", "1")
    # Who is alone has nobody to talk to.
    assert len(script.requests) == (2 * count if count > 1 else 1)


def test_an_agent_knows_only_what_it_saw_and_what_was_said(kitchen: Kitchen) -> None:
    # Bob looks the other way, at nothing.
    apart = replace(kitchen, facing={"agent_1": math.pi})
    script = RoleScript(messenger=[SILENT], planner=[chosen("stay idle")])
    apart.run(made(script, horizon=2), TASK)
    alice, bob = (of(script, PLANNER, name)[-1] for name in ("Alice", "Bob"))
    assert json.loads(alice["Alice's observation"]) == ["Fridge_1", "Table_1", "Apple_1"]
    assert bob["Bob's observation"] == "None"
    assert not any("Bob" in key for key in alice)
    assert "Apple_1" not in "".join(bob.values())
    assert "Alice" not in "".join([*bob, *bob.values()])
    assert json.loads(bob["Bob's steps so far"]) == ["step 1: stay idle: success"]
    # In its list is nothing that only Alice has seen.
    text = next(r for r in script.requests[::-1] if r.role is PLANNER).messages[1].text
    assert "Apple_1" not in text
    assert "1. move in ahead direction" in text


def test_what_is_no_longer_in_view_is_remembered(kitchen: Kitchen) -> None:
    turning = replace(kitchen, facing={})
    script = RoleScript(messenger=[SILENT], planner=[chosen("stay idle")])
    planner = made(script, horizon=2)

    def fault(agent: str, call: object) -> None:
        turning.facing = {"agent_0": math.pi}

    turning.fault = fault
    turning.run(planner, TASK)
    last = of(script, PLANNER, "Alice")[-1]
    assert last["Alice's observation"] == "None"
    assert json.loads(last["Alice's things seen before"]) == ["Fridge_1", "Table_1", "Apple_1"]


def test_the_list_has_every_action_on_everything_in_view(kitchen: Kitchen) -> None:
    script = RoleScript(messenger=[talk("I see the apple.")], planner=[chosen("stay idle")])
    kitchen.run(made(script, horizon=1), TASK)
    prompt = script.messages(PLANNER)[0][1].text
    options = every_action(["Fridge_1", "Table_1", "Apple_1"], ActionOptions())
    # Where things are put is said: on or in.
    assert len(options) == 3 * (1 + len(INTERACTIONS) + 1) + 18 + 3
    for number, words in enumerate([*(action.words for action in options), SEND], 1):
        assert f"\n{number}. {words}\n" in f"{prompt}\n"
    # Nobody can pick up a fridge; it is in the list all the same.
    assert ". pick up object Fridge_1\n" in prompt
    grammar = read_grammar(next(r for r in script.requests if r.role is PLANNER).grammar)
    assert grammar.accepts(f'{{"reason":"r","choice":{len(options) + 1}}}')
    assert not grammar.accepts(f'{{"reason":"r","choice":{len(options) + 2}}}')


@pytest.mark.parametrize("repertoire", Repertoire)
def test_every_option_is_read_as_what_it_says(repertoire: Repertoire) -> None:
    options = every_action(["Fire_1", "Deposit_2"], ActionOptions(repertoire=repertoire))
    assert [parse_action(option.words) for option in options] == list(options)
    assert len({option.words for option in options}) == len(options)


def test_what_rescuers_are_told_of_a_thing_is_not_in_its_name() -> None:
    seen = ("Fire_1 (chemical fire, low heat, near)", "Deposit_2")
    view = AgentView("agent_0", "Alice", seen, "(0.00, 0.00)")
    assert names_in_view(view) == ("Fire_1", "Deposit_2")


def test_an_impossible_choice_fails_and_costs_the_step(kitchen: Kitchen) -> None:
    script = RoleScript(
        messenger=[SILENT], planner=by_name(Alice="pick up object Fridge_1", Bob="stay idle")
    )
    kitchen.run(made(script, horizon=2), TASK)
    last = of(script, PLANNER, "Alice")[-1]
    assert "failed (not applicable)" in last["Alice's previous action"]
    assert len(json.loads(last["Alice's previous failures"])) == 1


def test_a_message_costs_the_step_and_is_heard_by_all_in_the_next(kitchen: Kitchen) -> None:
    script = RoleScript(
        messenger=lambda fields: talk("the fridge\nis open") if _is_of(fields, "Bob") else SILENT,
        planner=by_name(Alice="stay idle", Bob=SEND),
    )
    end = kitchen.run(made(script, horizon=2), TASK)
    assert [call for agent, call in kitchen.log if agent == "agent_1"] == ["Wait[]", "Wait[]"]
    first, second = of(script, PLANNER, "Alice")
    assert first["Messages"] == "None"
    assert json.loads(second["Messages"]) == ["step 1, Bob: the fridge is open"]
    assert json.loads(of(script, MESSENGER, "Bob")[1]["Messages"]) == [
        "step 1, Bob: the fridge is open"
    ]
    assert end.evidence["messages_sent"] == "2"


def _is_of(fields: Mapping[str, str], name: str) -> bool:
    return f"{name}'s observation" in fields


def test_messages_are_bounded_and_the_list_has_none_to_send_without_one(kitchen: Kitchen) -> None:
    script = RoleScript(messenger=[talk("x" * 9000)], planner=by_name(Alice=SEND, Bob="stay idle"))
    end = kitchen.run(made(script, horizon=2), TASK)
    assert {len(message.text) for message in kitchen.said} == {500}
    assert end.evidence["dropped_from_replies"] == "4"
    silent = RoleScript(messenger=[SILENT], planner=[chosen(SEND)])
    kitchen.run(made(silent, horizon=1), TASK)
    again = silent.messages(PLANNER)[1][-1].text
    assert f"\"choice\": expected a number from 1 to 51, got '{SEND}'" in again


@pytest.mark.parametrize("wrong", [0, 52, -1, "x", True, 1.5, None, "9" * 5000])
def test_a_choice_that_is_none_is_asked_for_again_then_the_agent_waits(
    kitchen: Kitchen, wrong: object
) -> None:
    bad = json.dumps({"reason": "r", "choice": wrong})
    script = RoleScript(messenger=[SILENT], planner=[bad])
    end = kitchen.run(made(script, horizon=1), TASK)
    assert end.end is InstructionCode.CALL_LIMIT
    assert script.roles.count(PLANNER) == 6
    assert kitchen.log == [("agent_0", "Wait[]"), ("agent_1", "Wait[]")]
    assert end.evidence["unread_replies"] == "2"
    assert "expected a number from 1 to 51" in end.evidence["last_unread_reply"]


@pytest.mark.parametrize("said", [1, "1", "1. navigate to object Fridge_1", "1) the fridge"])
def test_a_number_may_have_the_words_of_its_option(kitchen: Kitchen, said: str | int) -> None:
    script = RoleScript(messenger=[SILENT], planner=[chosen(said)])
    kitchen.run(made(script, horizon=1), TASK)
    assert kitchen.log[0] == ("agent_0", "NavigateTo[fridge_0]")


def test_prose_in_place_of_a_message_is_no_message(kitchen: Kitchen) -> None:
    script = RoleScript(messenger=["Hallo zusammen!"], planner=[chosen("stay idle")])
    end = kitchen.run(made(script, horizon=1), TASK)
    assert script.roles.count(MESSENGER) == 6
    assert (kitchen.said, end.evidence["unread_replies"]) == ([], "2")


def test_nobody_ends_the_task_alone(kitchen: Kitchen) -> None:
    script = RoleScript(messenger=[SILENT], planner=by_name(Alice="Done", Bob="stay idle"))
    end = kitchen.run(made(script, horizon=3), TASK)
    assert end.end is InstructionCode.CALL_LIMIT
