"""The model `teacher` with CoELA: right choices and messages, and their faults."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import graph_kitchen
import pytest
from llamar_toys import Kitchen

from papers.llamar.coela import make_coela
from papers.llamar.joint_planner import Asking
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.models.chat import ChatModel, Completion, Fault, Knows, Request, Role
from planner.models.teacher import Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode
from sim_bridge.graph.backend import GraphBackend

INSIDE = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
TOY = {"function_name": "is_inside", "args": {"objects": ["apple_13"], "receptacles": ["fridge_0"]}}
TASK = Task("Put the apple in the fridge.", ("agent_0", "agent_1"), {"propositions": [TOY]})


class Heard:
    """The teacher with a fault in the first reply of a role in which it can happen."""

    def __init__(
        self, fault: Fault | None = None, role: Role = Role.PLANNER, knows: Knows = Knows.PROMPT
    ) -> None:
        self._right = Teacher(Skill(knows=knows))
        self._wrong = Teacher(Skill({fault: 1.0}, knows=knows)) if fault else self._right
        self._role, self._is_over = role, fault is None
        self.name = self._wrong.name
        self.said: list[tuple[Role, dict[str, str], str]] = []

    async def complete(self, request: Request) -> Completion:
        if request.role is self._role and not self._is_over:
            answer = await self._wrong.complete(request)
            self._is_over = answer.notes["fault"] != "none"
        else:
            answer = await self._right.complete(request)
        self.said.append((request.role, _options(request), answer.text))
        return answer

    async def close(self) -> None:
        pass

    def choices(self) -> list[str]:
        """The options that were chosen; "" for a number that there is not."""
        return [
            options.get(str(json.loads(text)["choice"]), "")
            for role, options, text in self.said
            if role is Role.PLANNER and text.endswith("}")
        ]

    def messages(self) -> list[str | None]:
        return [
            json.loads(text)["message"] for role, _, text in self.said if role is not Role.PLANNER
        ]


def _options(request: Request) -> dict[str, str]:
    lines = request.messages[1].text.splitlines()
    return {n: words for n, dot, words in (one.partition(". ") for one in lines) if n.isdecimal()}


def play(folder: Path, model: ChatModel) -> RunResult:
    house = load_house(graph_kitchen.written(folder))
    task = graph_kitchen.task(house)
    robot = task.agents[0].model_copy(update={"start": (3.0, 0.0, -2.2)})
    update = {"evaluation": {"propositions": [INSIDE]}, "agents": (robot,)}

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice("llamar_coela"), task, model)

    return prepare_graph(GraphBackend(), house, task.model_copy(update=update), planner).run()


def steps(kitchen: Kitchen, model: Heard, horizon: int, task: Task = TASK) -> Mapping[str, str]:
    """Joint steps of two agents in a kitchen in which nothing moves; returns the evidence."""
    asking = Asking("llamar_coela", model, task.agents)
    end = kitchen.run(make_coela(task, asking, horizon=horizon), task)
    assert end.end is InstructionCode.CALL_LIMIT
    return end.evidence


@pytest.mark.parametrize("knows", Knows)
def test_without_faults_the_task_is_done(tmp_path: Path, knows: Knows) -> None:
    model = Heard(knows=knows)
    result = play(tmp_path, model)
    assert (result.outcome.code, result.verdict.success) == (InstructionCode.DONE, True)
    assert result.evidence["unread_replies"] == "0"
    assert "" not in model.choices()
    # It turned to the fridge, which was not in view any more.
    assert any(choice.startswith("rotate") for choice in model.choices())
    assert "put object in Fridge_1" in model.choices()


@pytest.mark.parametrize("fault", [f for f in Fault if f is not Fault.UNNOTICED_FAILURE])
def test_a_wrong_choice_of_one_agent_costs_steps(tmp_path: Path, fault: Fault) -> None:
    model = Heard(fault)
    result = play(tmp_path, model)
    assert json.loads(result.evidence["model_faults"]) == {fault.value: 1}
    # Alone it may end the task.
    assert result.verdict.success is (fault is not Fault.EARLY_DONE)


def test_what_nobody_has_spoken_of_is_told_once(kitchen: Kitchen) -> None:
    # Bob looks away, and nobody can go anywhere.
    apart = replace(kitchen, facing={"agent_1": math.pi})
    model = Heard()
    evidence = steps(apart, model, horizon=4)
    assert evidence["messages_sent"] == "1"
    (told,) = apart.said
    assert told.sender == "agent_0"
    assert told.text.startswith("I know Fridge_1, Apple_1.")
    assert model.messages()[2:] == [None] * 6


def test_with_all_that_the_memory_knows_nobody_has_to_talk(kitchen: Kitchen) -> None:
    model = Heard(knows=Knows.MEMORY)
    assert steps(kitchen, model, horizon=3)["messages_sent"] == "0"
    assert set(model.messages()) == {None}


@pytest.mark.parametrize("fault", [Fault.INVENTED_ENTITY, Fault.EARLY_DONE, Fault.MALFORMED])
def test_a_wrong_message_is_written_in_any_step(kitchen: Kitchen, fault: Fault) -> None:
    model = Heard(fault, Role.MESSENGER)
    evidence = steps(kitchen, model, horizon=1)
    assert json.loads(evidence["model_faults"]) == {fault.value: 1}
    first = model.said[0][2]
    expected = {Fault.INVENTED_ENTITY: "Samovar_1", Fault.EARLY_DONE: "The task is complete."}
    assert expected.get(fault, '"mess') in first


def test_words_without_a_goal_are_no_task_for_it(kitchen: Kitchen) -> None:
    from planner.models.chat import ModelError

    with pytest.raises(ModelError, match="has none: name an episode"):
        steps(kitchen, Heard(), 1, Task("Tidy up.", ("agent_0", "agent_1")))
