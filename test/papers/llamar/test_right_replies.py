"""The model `teacher` with LLaMAR and its baselines: right replies, faults, what is reported."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import graph_kitchen
import pytest

from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.models.chat import (
    ChatModel,
    Completion,
    Fault,
    Knows,
    Message,
    ModelError,
    Request,
    Role,
    Speaker,
)
from planner.models.model_choice import ModelChoice, make_model
from planner.models.teacher import Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from planner.world.topics import InstructionCode
from sim_bridge.graph.backend import GraphBackend

ASKED = {
    "function_name": "is_inside",
    "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
}
PLANNERS = ["llamar", "llamar_act", "llamar_react", "llamar_cot"]
# A fault of these in one reply costs steps; it does not end the task.
HARMLESS = [
    Fault.INVENTED_ENTITY,
    Fault.WRONG_ENTITY,
    Fault.SKIPPED_STEP,
    Fault.REPEATED_STEP,
    Fault.MALFORMED,
]


class Once:
    """The teacher with one fault in the first reply of a role, or in that of a number."""

    def __init__(self, fault: Fault, role: Role, number: int = 1) -> None:
        self._right, self._wrong = Teacher(Skill()), Teacher(Skill({fault: 1.0}))
        self._role, self._left = role, number
        self.name = self._wrong.name
        self.texts: list[tuple[Role, str]] = []

    async def complete(self, request: Request) -> Completion:
        self._left -= request.role is self._role
        is_wrong = request.role is self._role and self._left == 0
        answer = await (self._wrong if is_wrong else self._right).complete(request)
        self.texts.append((request.role, answer.text))
        return answer

    async def close(self) -> None:
        pass


def play(
    folder: Path, model: ChatModel, name: str = "llamar", **options: str | bool | int
) -> RunResult:
    house = load_house(graph_kitchen.written(folder))
    episode = graph_kitchen.task(house).model_copy(
        update={"evaluation": {"propositions": [ASKED]}, "instruction": "Put the apple away."}
    )
    robot = episode.agents[0].model_copy(update={"start": (3.0, 0.0, -2.2)})
    episode = episode.model_copy(update={"agents": (robot,)})

    def planner(task: Task) -> Planner:
        return make_planner(PlannerChoice(name, options=options), task, model)

    return prepare_graph(GraphBackend(), house, episode, planner).run()


@pytest.mark.parametrize("name", PLANNERS)
def test_without_faults_every_method_does_the_task(tmp_path: Path, name: str) -> None:
    result = play(tmp_path, Teacher(Skill()), name)
    assert result.outcome.code is InstructionCode.DONE
    assert result.verdict.success
    assert result.evidence["privileged_model"] == "teacher (reads the goal; no faults)"
    assert result.evidence["privilege"] == "goal"
    assert result.evidence["model_faults"] == "{}"


@pytest.mark.parametrize("corrector", ["separate", "merged", "off"])
def test_every_way_to_correct_runs_whole(tmp_path: Path, corrector: str) -> None:
    result = play(tmp_path, Teacher(Skill()), corrector=corrector, confirm_empty_with_planner=True)
    assert result.verdict.success


@pytest.mark.parametrize(
    ("verifier", "corrector", "roles"),
    [
        ("oracle", "separate", {Role.PLANNER, Role.ACTOR, Role.CORRECTOR}),
        ("off", "separate", {Role.PLANNER, Role.ACTOR, Role.CORRECTOR}),
        ("off", "off", {Role.PLANNER, Role.ACTOR}),
        ("model", "off", {Role.PLANNER, Role.ACTOR, Role.VERIFIER}),
    ],
)
def test_roles_can_be_left_out(
    tmp_path: Path, verifier: str, corrector: str, roles: set[Role]
) -> None:
    model = Once(Fault.EARLY_DONE, Role.GENERATOR)
    result = play(tmp_path, model, verifier=verifier, corrector=corrector)
    assert result.verdict.success
    assert {role for role, _ in model.texts} == roles
    done = json.loads(result.evidence["completed_subtasks"])
    assert done == ([] if verifier == "off" else ["1: apple 13 is inside fridge 10"])


def test_an_oracle_that_has_no_goal_is_refused() -> None:
    choice = PlannerChoice("llamar", options={"verifier": "oracle"})
    with pytest.raises(PlannerError, match="verifier:=oracle reads a structured goal"):
        make_planner(choice, Task("Tidy up.", ("agent_0",)), Teacher(Skill()))


@pytest.mark.parametrize("knows", Knows)
@pytest.mark.parametrize("name", ["llamar", "llamar_act"])
def test_it_does_the_task_whatever_it_knows(tmp_path: Path, name: str, knows: Knows) -> None:
    assert play(tmp_path, Teacher(Skill(knows=knows)), name).verdict.success


@pytest.mark.parametrize("fault", HARMLESS)
@pytest.mark.parametrize("name", ["llamar", "llamar_act"])
def test_a_fault_of_the_third_action_is_made_up_for(
    tmp_path: Path, name: str, fault: Fault
) -> None:
    role = Role.ACTOR if name == "llamar" else Role.PLANNER
    # Walking to the apple, when there is something to repeat, and something else to walk to.
    result = play(tmp_path, Once(fault, role, 3), name)
    assert result.verdict.success
    assert json.loads(result.evidence["model_faults"]) == {fault.value: 1}


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("llamar_act", Role.PLANNER),
        ("llamar", Role.ACTOR),
        ("llamar", Role.PLANNER),
        ("llamar", Role.VERIFIER),
    ],
)
def test_done_too_early_ends_every_method(tmp_path: Path, name: str, role: Role) -> None:
    result = play(tmp_path, Once(Fault.EARLY_DONE, role), name)
    assert result.outcome.code is InstructionCode.DONE
    assert not result.verdict.success
    assert json.loads(result.evidence["model_faults"]) == {"early_done": 1}


def test_who_heeds_the_open_subtasks_is_not_done_early(tmp_path: Path) -> None:
    skill = Skill({Fault.EARLY_DONE: 1.0}, heeding=1.0)

    class Actor(Once):
        def __init__(self) -> None:
            super().__init__(Fault.EARLY_DONE, Role.ACTOR)
            self._wrong = Teacher(skill)

    assert play(tmp_path, Actor()).verdict.success


@pytest.mark.parametrize("unnoticed", [False, True])
def test_a_failure_gets_its_remedy_unless_it_is_not_noticed(
    tmp_path: Path, *, unnoticed: bool
) -> None:
    class SkippingWalk(Once):
        """The Actor leaves out the first walk, so that something fails in the first step."""

        async def complete(self, request: Request) -> Completion:
            if unnoticed and request.role is Role.CORRECTOR:
                answer = await Teacher(Skill({Fault.UNNOTICED_FAILURE: 1.0})).complete(request)
                self.texts.append((request.role, answer.text))
                return answer
            return await super().complete(request)

    model = SkippingWalk(Fault.SKIPPED_STEP, Role.ACTOR)
    assert play(tmp_path, model).verdict.success
    said = json.loads(next(text for role, text in model.texts if role is Role.CORRECTOR))
    if unnoticed:
        assert said == {"failure reason": None, "Alice's corrective action": None}
    else:
        assert "failed" in said["failure reason"]
        assert said["Alice's corrective action"].startswith("navigate to object")


def test_words_without_a_goal_are_no_task_for_it(tmp_path: Path) -> None:
    planner = make_planner(
        PlannerChoice("llamar_act"), Task("Tidy up.", ("agent_0",)), Teacher(Skill())
    )
    house = load_house(graph_kitchen.written(tmp_path))
    episode = graph_kitchen.task(house).model_copy(update={"evaluation": {"propositions": [ASKED]}})
    result = prepare_graph(GraphBackend(), house, episode, lambda _task: planner).run()
    assert result.outcome.code is InstructionCode.MODEL_FAULT
    assert "has none: name an episode" in result.outcome.text


def test_a_request_that_tells_no_right_reply_is_refused() -> None:
    """Nothing is made up for a planner that computes none."""
    with pytest.raises(ModelError, match="this request tells none"):
        asyncio.run(Teacher(Skill()).complete(Request((Message(Speaker.USER, "What now?"),))))


def test_who_heeds_the_open_subtasks_is_not_done_by_a_remedy(tmp_path: Path) -> None:
    class Corrector(Once):
        """The Corrector says once that all is done, and the Actor heeds what it reads."""

        def __init__(self) -> None:
            super().__init__(Fault.EARLY_DONE, Role.CORRECTOR)
            self._right = Teacher(Skill(heeding=1.0))

    model = Corrector()
    assert play(tmp_path, model).verdict.success
    first = next(text for role, text in model.texts if role is Role.CORRECTOR)
    assert json.loads(first)["Alice's corrective action"] == "Done"


@pytest.mark.slow
def test_a_role_may_have_a_teacher_that_errs(tmp_path: Path) -> None:
    path = tmp_path / "roles.yaml"
    path.write_text(
        "version: 1\ndefault: {model: teacher}\n"
        "roles:\n  verifier: {model: teacher, options: {early_done: 1.0}}\n"
    )
    model = make_model(ModelChoice(f"roles:{path}"))
    assert model is not None
    result = play(tmp_path, model)
    # The Verifier takes everything for complete after the first step; nobody else errs.
    assert not result.verdict.success
    assert json.loads(result.evidence["model_faults"]) == {"early_done": 1}
    assert result.evidence["privileged_model"] == (
        "teacher (reads the goal and its prompt; no faults), "
        "verifier teacher (reads the goal and its prompt; early_done 1)"
    )
