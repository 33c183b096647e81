"""Managed nodes: how they come up, and what `ros2 lifecycle set` does to them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import LATCHED, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from memory_harness import Listener, edit
from node_processes import Node, running
from planner_harness import Instructions, Start, script
from planner_msgs.action import ExecuteSkill
from planner_msgs.msg import Evaluation, InstructStatus, Operation
from planner_msgs.srv import QueryMemory
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

from planner.bringup import node_list
from planner.bringup_arguments import Arguments
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCode
from planner.world.topics import InstructionCode

MANAGED = ("evaluator", "memory", "skill_executor", "task_planner")
# As the memory's services number it.
NOT_READY = 2
GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": ["cup_0"], "receptacles": ["table_0"]}}
    ]
}


def state(client: Client, node: str) -> str:
    return str(client.call(GetState, f"/{node}/get_state").current_state.label)


def change(client: Client, node: str, *transitions: str) -> str:
    """Asks for transitions as `ros2 lifecycle set` does; returns the state after them."""
    for name in transitions:
        answer = client.call(
            ChangeState, f"/{node}/change_state", transition=Transition(label=name)
        )
        assert answer.success, name
    return state(client, node)


def until_active(client: Client, *nodes: str) -> None:
    for node in nodes:
        client.wait(lambda n=node: state(client, n) == "active", f"an active {node}")


@pytest.fixture
def task(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    return write_world(tmp_path, small_house, small_episode.model_copy(update={"evaluation": GOAL}))


@pytest.mark.parametrize("name", MANAGED)
def test_a_node_alone_activates_itself_and_can_be_taken_down_and_up(
    client: Client, name: str
) -> None:
    heard = client.listen(DiagnosticArray, "/diagnostics", 50)

    def status(label: str) -> DiagnosticStatus:
        def newest() -> DiagnosticStatus | None:
            found = [s for m in heard for s in m.status if s.name == f"{name}: state"]
            return found[-1] if found and found[-1].message == label else None

        return client.wait(newest, f"{label} on /diagnostics")

    with running(name) as process:
        until_active(client, name)
        assert status("active").level == DiagnosticStatus.OK
        assert change(client, name, "deactivate") == "inactive"
        assert status("inactive").level == DiagnosticStatus.WARN
        assert change(client, name, "cleanup", "configure", "activate") == "active"
        assert status("active").level == DiagnosticStatus.OK
        assert change(client, name, "shutdown") == "finalized"
        assert status("finalized").level == DiagnosticStatus.WARN
        assert process.poll() is None
    assert process.wait() == 0
    assert "Traceback" not in process.log


def test_without_autostart_a_node_waits_for_its_operator(client: Client) -> None:
    with running("evaluator", autostart=False) as process:
        assert state(client, "evaluator") == "unconfigured"
        client.wait(lambda: "unconfigured: `autostart` is off" in process.log, "the log line")
        client.idle(1.5)
        assert state(client, "evaluator") == "unconfigured"
        assert change(client, "evaluator", "configure", "activate") == "active"


def test_a_bring_up_is_in_order_whoever_starts_first(client: Client, task: Path) -> None:
    specs = {
        spec.name: spec
        for spec in node_list(Arguments(planner="expert", episode=str(task)))
        if spec.name in MANAGED
    }
    assert tuple(specs) == MANAGED
    with ExitStack() as stack:
        nodes: dict[str, Node] = {}
        for name in reversed(MANAGED):
            # An empty text would come as no text by this way.
            given = {key: value for key, value in specs[name].parameters.items() if value != ""}
            nodes[name] = stack.enter_context(running(name, **given))
        for name, node in nodes.items():
            topic = specs[name].parameters["start_after"]
            words = f"waiting for /{topic}, after which it starts"
            client.wait(lambda n=node, w=words: w in n.log, f"{name}: {words}")
            assert state(client, name) == "unconfigured"
        stack.enter_context(bridge(episode=task))
        until_active(client, *MANAGED)


def query(client: Client) -> Any:
    return client.call(QueryMemory, "/memory/query", text="a lamp")


def test_an_inactive_memory_refuses_and_forgets_nothing(
    client: Client, task: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with bridge(episode=task):
        with running("memory", episode=task, store=store):
            listener = Listener(client)
            listener.until_known("table_0")
            lamp = Operation(kind=Operation.ADD)
            lamp.entity.name = lamp.entity.description = "lamp_7"
            assert edit(client, lamp).success
            assert change(client, "memory", "deactivate") == "inactive"
            for refused in (query(client), edit(client, lamp)):
                assert (refused.success, refused.code) == (False, NOT_READY)
                assert refused.message == (
                    "memory is inactive: `ros2 lifecycle set /memory activate`"
                )
            client.idle(1.0)
            listener.graphs.clear()
            client.idle(1.5)
            assert listener.graphs == []
            assert change(client, "memory", "activate") == "active"
            assert "lamp_7" in listener.belief().nodes
            assert change(client, "memory", "shutdown") == "finalized"
        with running("memory", episode=task, store=store):
            until_active(client, "memory")
            client.wait(lambda: "lamp_7" in query(client).message, "what was stored")


def test_an_inactive_evaluator_gives_no_verdict_and_misses_nothing(
    client: Client, task: Path
) -> None:
    with running("evaluator", episode=task), bridge(episode=task):
        heard = client.listen(Evaluation, "/evaluation", 10)
        client.wait(lambda: heard and heard[-1].propositions, "a judged world")
        assert change(client, "evaluator", "deactivate") == "inactive"
        answer = client.call(Trigger, "/evaluation/finish")
        assert not answer.success
        assert answer.message == ("evaluator is inactive: `ros2 lifecycle set /evaluator activate`")
        client.do("navigate", (2.0, 2.0, 0.0))
        assert change(client, "evaluator", "activate") == "active"
        assert client.call(Trigger, "/evaluation/finish").success
        verdict = client.hear(Evaluation, "/evaluation/result", LATCHED)
        assert (verdict.status, verdict.unseen_states) == (Evaluation.SUCCEEDED, 0)


def test_an_inactive_skill_executor_ends_its_call_and_takes_no_other(
    client: Client, task: Path
) -> None:
    with (
        bridge(episode=task),
        running("memory", episode=task),
        running("skill_executor", episode=task),
    ):
        action = ActionClient(client.node, ExecuteSkill, "/agent_0/skill")
        client.wait(action.server_is_ready, "the skills of agent_0")

        def begin(call: str) -> Any:
            sent = action.send_goal_async(ExecuteSkill.Goal(call=call))
            client.wait(sent.done, "acceptance")
            return sent.result().get_result_async()

        def end(asked: Any) -> tuple[int, str]:
            client.wait(asked.done, "the result")
            result = asked.result().result
            return result.code, result.text

        waits = begin("Wait[]")
        assert change(client, "skill_executor", "deactivate") == "inactive"
        assert end(waits)[0] == SkillCode.CANCELED
        code, text = end(begin("Wait[]"))
        assert code == SkillCode.NOT_ALLOWED
        assert "skill_executor is inactive: `ros2 lifecycle set /skill_executor activate`" in text
        assert change(client, "skill_executor", "activate") == "active"
        assert end(begin("FindObjectTool[cup]"))[0] == SkillCode.SUCCESS


def test_an_inactive_task_planner_ends_its_instruction_and_takes_no_other(
    client: Client, alone: Start, tmp_path: Path
) -> None:
    asks = script(tmp_path / "script", "Ask[which cup]", "Ask[which cup]")
    alone(planner="react", model=asks, max_questions=1, answer_wait=3600)
    statuses = client.listen(InstructStatus, "/instruct/status", LATCHED)
    instructions = Instructions(client)
    running_one = instructions.send("Bring the cup.", agents=["agent_0"])
    client.wait(lambda: statuses and statuses[-1].state == InstructStatus.WAITING, "the question")
    assert change(client, "task_planner", "deactivate") == "inactive"
    result, _ = instructions.result(running_one)
    assert (result.code, result.text) == (
        InstructionCode.CANCELED,
        "task_planner was deactivated",
    )
    client.wait(lambda: statuses[-1].state == InstructStatus.CANCELED, "its end in the status")
    refused = instructions.follow("Bring the cup.", agents=["agent_0"])
    assert refused.code == InstructionCode.NOT_READY
    assert refused.text == ("task_planner is inactive: `ros2 lifecycle set /task_planner activate`")
    assert change(client, "task_planner", "cleanup", "configure", "activate") == "active"
    assert Instructions(client).send("Bring the cup.", agents=["agent_0"]).accepted
