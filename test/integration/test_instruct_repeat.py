"""An instruction that is given twice because an answer was lost: it is one instruction."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from bridge_harness import LATCHED, Client
from planner_harness import Start, script
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import InstructStatus
from rclpy.action.client import ActionClient
from std_msgs.msg import String
from unique_identifier_msgs.msg import UUID

from planner.ros import skill_client
from planner.ros.skill_client import InstructClient
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode

GO, ASK, DONE = "Navigate[Object.100]\nAssigned!", "Ask[which table]", "Done[]\nAssigned!"
GOAL = FollowInstruction.Goal(instruction="Go to the table.", agents=["agent_0"])


def lose(monkeypatch: pytest.MonkeyPatch, kind: str) -> list[Any]:
    """Loses the first answer of a kind on its way to any client of `/instruct`."""
    lost: list[Any] = []
    execute = ActionClient.execute

    async def execute_but_one(self: Any, taken: Any) -> None:
        if self._action_name.lstrip("/") == "instruct" and kind in taken and not lost:
            lost.append(taken.pop(kind))
        await execute(self, taken)

    monkeypatch.setattr(ActionClient, "execute", execute_but_one)
    return lost


@pytest.mark.parametrize("kind", ["goal", "result"])
def test_an_answer_that_was_lost_is_asked_for_again(
    alone: Start,
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    model = script(tmp_path / "script", ASK, GO, DONE)
    node, begun = alone(planner="react", model=model, max_questions=1, answer_wait=4.0)
    lost = lose(monkeypatch, kind)
    monkeypatch.setattr(skill_client, "accept_timeout_s", lambda _: 1.0)
    sent: list[str] = []
    asker = InstructClient(client.node, sent.append)
    task = client.executor.create_task(asker.follow, GOAL, 60.0, lambda *_: None)
    client.wait(task.done, "the end of the instruction", 60.0)
    result: Any = task.result()
    assert len(lost) == 1
    assert result.code == InstructionCode.DONE, result.text + node.log
    assert len(sent) == 1
    assert [call for _, call in begun] == ["Navigate[Object.100]"]


def test_the_same_goal_is_one_run_and_another_is_refused(
    alone: Start, client: Client, tmp_path: Path
) -> None:
    model = script(tmp_path / "script", ASK, GO, DONE)
    _, begun = alone(planner="react", model=model, max_questions=1, answer_wait=60.0)
    number = UUID(uuid=list(uuid.uuid4().bytes))
    standing = client.listen(InstructStatus, "/instruct/status", LATCHED)
    answers = client.node.create_publisher(String, "/instruct/answer", 10)

    def send(
        goal: FollowInstruction.Goal, goal_uuid: UUID
    ) -> tuple[ActionClient[Any, Any, Any], Any]:
        # One of its own for each: a client of rclpy takes an id once.
        action: ActionClient[Any, Any, Any] = ActionClient(
            client.node, FollowInstruction, "/instruct"
        )
        client.wait(action.server_is_ready, "/instruct")
        sent = action.send_goal_async(goal, goal_uuid=goal_uuid)
        client.wait(sent.done, "acceptance")
        return action, sent.result()

    def result(handle: Any) -> Any:
        asked = handle.get_result_async()
        client.wait(asked.done, "a result")
        return asked.result()

    made = [send(GOAL, number), send(GOAL, number)]
    (_, first), (_, again) = made
    assert (first.accepted, again.accepted) == (True, True)
    assert again.stamp == first.stamp
    made.append(send(FollowInstruction.Goal(instruction="Sing."), number))
    assert not made[-1][1].accepted
    made.append(send(GOAL, UUID(uuid=list(uuid.uuid4().bytes))))
    assert result(made[-1][1]).result.code == InstructionCode.BUSY
    client.wait(lambda: standing and standing[-1].question, "the question")
    client.wait(answers.get_subscription_count, "somebody who hears the answer")
    answers.publish(String(data="the round one"))
    for handle in (first, again):
        response = result(handle)
        assert response.status == GoalStatus.STATUS_SUCCEEDED
        assert response.result.code == InstructionCode.DONE
    assert len(begun) == 1
    # Also once it has ended.
    made.append(send(GOAL, number))
    assert result(made[-1][1]).result.code == InstructionCode.DONE
    assert len(begun) == 1
    for action, _ in made:
        action.destroy()


def test_without_a_server_it_ends_with_one_error(client: Client) -> None:
    asker = InstructClient(client.node, lambda _: None)
    task = client.executor.create_task(asker.follow, GOAL, 1.0, lambda *_: None)
    with pytest.raises(PlannerError, match="no task planner answered within 1 s"):
        client.wait(task.done, "the error", 20.0)


def test_a_client_that_found_no_server_is_created_anew(
    alone: Start, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(tmp_path / "script", GO, DONE)
    node, _ = alone(planner="react", model=model, max_questions=1, answer_wait=4.0)
    asker = InstructClient(client.node, lambda _: None)
    unmatched = asker._client._client
    monkeypatch.setattr(unmatched, "server_is_ready", lambda: False)
    monkeypatch.setattr(asker._client, "_period_s", 0.5)
    task = client.executor.create_task(asker.follow, GOAL, 60.0, lambda *_: None)
    client.wait(task.done, "the end of the instruction", 60.0)
    result: Any = task.result()
    assert result.code == InstructionCode.DONE, result.text + node.log
    assert asker._client._client is not unmatched
