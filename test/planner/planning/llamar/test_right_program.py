"""The model `teacher` with SmartLLM: right programs, their faults, what cannot be written."""

from __future__ import annotations

import json
from pathlib import Path

import graph_kitchen
import pytest

from planner.app.graph_run import prepare_graph
from planner.app.run import RunResult
from planner.models.chat import ChatModel, Completion, Request
from planner.models.reference import Fault, Knows
from planner.models.role import Role
from planner.models.teacher import Skill, Teacher
from planner.planning.planner import Planner, Task
from planner.planning.planner_choice import PlannerChoice, make_planner
from planner.world.house_checks import load_house
from planner.world.instruct import InstructionCode
from sim_bridge.graph.backend import GraphBackend

INSIDE = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
RIGHT = """\
def open_fridge_10(robot):
    NavigateTo(robot, "Fridge_1")
    Open(robot, "Fridge_1")
def put_apple_13(robot):
    NavigateTo(robot, "Apple_1")
    Pickup(robot, "Apple_1")
    NavigateTo(robot, "Fridge_1")
    Put(robot, "Fridge_1")"""
ALLOCATED = """\
t1 = threading.Thread(target=open_fridge_10, args=(Alice,))
t1.start()
t1.join()
t2 = threading.Thread(target=put_apple_13, args=(Alice,))
t2.start()
t2.join()"""


class Heard:
    """A model whose replies are kept, with a fault in those of one role."""

    def __init__(
        self,
        role: Role = Role.PLANNER,
        fault: Fault | None = None,
        knows: Knows = Knows.MEMORY,
    ) -> None:
        self._right = Teacher(Skill(knows=knows))
        self._wrong = Teacher(Skill({fault: 1.0})) if fault is not None else self._right
        self._role, self.name = role, self._wrong.name
        self.texts: list[str] = []

    async def complete(self, request: Request) -> Completion:
        model = self._wrong if request.role is self._role else self._right
        answer = await model.complete(request)
        self.texts.append(answer.text)
        return answer

    async def close(self) -> None:
        pass


def play(
    folder: Path,
    model: ChatModel,
    goal: object = INSIDE,
    start: tuple[float, float, float] = (3.0, 0.0, -2.2),
) -> RunResult:
    """One robot in a kitchen; at `start` it sees fridge and apple."""
    house = load_house(graph_kitchen.written(folder))
    task = graph_kitchen.task(house)
    robot = task.agents[0].model_copy(update={"start": start})
    update = {"evaluation": {"propositions": [goal]}, "agents": (robot,)}

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice("llamar_smart_llm"), task, model)

    return prepare_graph(GraphBackend(), house, task.model_copy(update=update), planner).run()


def test_the_right_program_does_the_task(tmp_path: Path) -> None:
    model = Heard()
    result = play(tmp_path, model)
    assert model.texts == [RIGHT, ALLOCATED]
    assert (result.outcome.code, result.verdict.success) == (InstructionCode.DONE, True)
    assert result.evidence["privileged_model"] == "teacher (reads the goal; no faults)"
    assert result.evidence["program_steps"] == "6 of 6"


def test_what_nobody_has_seen_is_explored_for_and_named_in_advance(tmp_path: Path) -> None:
    model = Heard()
    play(tmp_path, model, start=(3.0, 0.0, 2.2))
    assert 'Explore(robot)\n    NavigateTo(robot, "Apple_1")' in model.texts[0]


def test_a_reader_of_the_prompt_knows_only_what_is_in_view(tmp_path: Path) -> None:
    model = Heard(knows=Knows.PROMPT)
    assert play(tmp_path, model).verdict.success
    # With its back to the kitchen the robot sees neither, though the memory knows the fridge.
    play(tmp_path, model, start=(3.0, 0.0, 2.2))
    assert model.texts[0] == RIGHT
    assert 'Explore(robot)\n    NavigateTo(robot, "Fridge_1")' in model.texts[2]


def test_what_holds_needs_no_program(tmp_path: Path) -> None:
    model = Heard()
    closed = {"function_name": "is_closed", "args": {"objects": ["fridge_10"]}}
    result = play(tmp_path, model, closed)
    assert model.texts[0] == "def wait(robot):\n    Idle(robot)"
    assert result.verdict.success


# By the role that errs.
DONE_ALL_THE_SAME = {(Role.PLANNER, Fault.REPEATED_STEP), (Role.ACTOR, Fault.REPEATED_STEP)}


@pytest.mark.parametrize("role", [Role.PLANNER, Role.ACTOR])
@pytest.mark.parametrize("fault", [f for f in Fault if f is not Fault.UNNOTICED_FAILURE])
def test_a_fault_of_a_plan_made_once_is_not_made_up_for(
    tmp_path: Path, role: Role, fault: Fault
) -> None:
    model = Heard(role, fault)
    result = play(tmp_path, model)
    number = [Role.PLANNER, Role.ACTOR].index(role)
    assert model.texts[number] != (RIGHT, ALLOCATED)[number]
    assert result.verdict.success is ((role, fault) in DONE_ALL_THE_SAME)
    # A program that cannot be read is asked for three times.
    is_refused = fault is Fault.MALFORMED or (role, fault) == (Role.ACTOR, Fault.INVENTED_ENTITY)
    assert (result.outcome.code is InstructionCode.GAVE_UP) is is_refused
    times = 3 if is_refused else 1
    assert json.loads(result.evidence["model_faults"]) == {fault.value: times}


def test_what_the_actions_cannot_do_is_said(tmp_path: Path) -> None:
    dropped = {"function_name": "is_on_floor", "args": {"objects": ["apple_13"]}}
    result = play(tmp_path, Heard(), dropped)
    assert result.outcome.code is InstructionCode.MODEL_FAULT
    assert "actions cannot make is_on_floor(apple_13) true" in result.outcome.text


def test_words_without_a_goal_are_no_task_for_it(tmp_path: Path) -> None:
    text = Task("Tidy up.", ("agent_0",))
    planner = make_planner(PlannerChoice("llamar_smart_llm"), text, Teacher(Skill()))
    house = load_house(graph_kitchen.written(tmp_path))
    episode = graph_kitchen.task(house)
    episode = episode.model_copy(update={"evaluation": {"propositions": [INSIDE]}})
    result = prepare_graph(GraphBackend(), house, episode, lambda _task: planner).run()
    assert result.outcome.code is InstructionCode.MODEL_FAULT
    assert "has none: name an episode" in result.outcome.text
