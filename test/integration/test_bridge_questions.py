"""An approval belongs to one question, over ROS: before a simulator that asks as a robot does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import LATCHED, Client, asking_bridge, refusals
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped
from planner_msgs.msg import ApprovalQuestion
from planner_msgs.srv import AnswerQuestion
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import PrimitiveCode

AGENT = "agent_0"
SERVICE = f"/{AGENT}/safety/answer"


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("questions")
    with asking_bridge(folder, small_house, small_episode) as made:
        yield made


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    yield shared
    shared.forget()


def answer(client: Client, question_id: str, **fields: Any) -> Any:
    return client.call(AnswerQuestion, SERVICE, question_id=question_id, **fields)


def next_question(client: Client, heard: list[Any], known: str = "") -> ApprovalQuestion:
    client.wait(
        lambda: heard and heard[-1].question_id not in ("", known), "the question of the operator"
    )
    return heard[-1]


def test_an_approval_of_a_canceled_question_releases_no_other(client: Client) -> None:
    heard = client.listen(ApprovalQuestion, f"/{AGENT}/safety/question", LATCHED)
    receipts = client.receipts()
    client.wait(lambda: heard and heard[-1].question_id == "", "that nothing is asked")
    cup = client.start("pick", (2.5, 1.5, 0.5), thing_class="cup")
    first = next_question(client, heard)
    assert (first.primitive, first.thing_class) == ("pick", "cup")
    cup.cancel()
    assert cup.result().code == PrimitiveCode.CANCELED
    knife = client.start("pick", (2.6, 1.5, 0.5), thing_class="knife")
    second = next_question(client, heard, first.question_id)
    assert second.thing_class == "knife"
    refused = answer(client, first.question_id, approve=True, remember_kind=True)
    assert not refused.success
    assert refused.message == f"question {first.question_id} was canceled; nothing was approved"
    client.wait(lambda: any("was canceled" in r.message for r in refusals(receipts)), "a receipt")
    client.wait(lambda: knife.feedback, "how it stands")
    assert {f.feedback.phase for f in knife.feedback} == {"waiting for approval"}
    assert not [r for r in receipts if r.level == DiagnosticStatus.OK]
    assert heard[-1].question_id == second.question_id
    told = answer(client, second.question_id, approve=True)
    assert not told.success
    assert told.message == "pick was approved and refused: nothing to take is at the target"
    assert knife.result().code == PrimitiveCode.NOTHING_THERE, "it began, and there is no knife"
    client.wait(lambda: heard[-1].question_id == "", "that nothing is asked any more")
    again = answer(client, second.question_id, approve=True)
    assert not again.success
    assert "was approved already" in again.message


def test_a_question_comes_with_its_picture_target_and_time_limit(client: Client) -> None:
    heard = client.listen(ApprovalQuestion, f"/{AGENT}/safety/question", LATCHED)
    pictures = client.listen(Image, f"/{AGENT}/safety/asks/image", LATCHED)
    targets = client.listen(PointStamped, f"/{AGENT}/safety/asks/target", LATCHED)
    pick = client.start("pick", (2.5, 1.5, 0.5))
    question = next_question(client, heard)
    stamp = question.issued
    client.wait(lambda: pictures and pictures[-1].header.stamp == stamp, "its picture")
    client.wait(lambda: targets and targets[-1].header.stamp == stamp, "its target")
    assert question.picture_frame == pictures[-1].header.frame_id == f"{AGENT}/hand_optical_frame"
    assert question.target == targets[-1]
    assert question.thing_class == "", "nobody said what perception takes it for"
    assert stamp_seconds(question.expires) - stamp_seconds(stamp) == pytest.approx(300.0)
    clock = stamp_seconds(client.hear(Clock, "/clock").clock)
    assert 0.0 < stamp_seconds(stamp) <= clock < stamp_seconds(question.expires)
    other = client.call(
        AnswerQuestion, "/agent_1/safety/answer", question_id=question.question_id, approve=True
    )
    assert not other.success
    assert f"is of {AGENT}" in other.message
    refused = client.call(Trigger, f"/{AGENT}/safety/refuse")
    assert refused.success
    assert pick.result().code == PrimitiveCode.NOT_ALLOWED


def test_an_answer_that_names_no_question_leaves_a_receipt(client: Client) -> None:
    receipts = client.receipts()
    response = answer(client, "", approve=True)
    assert not response.success
    assert "question_id is empty" in response.message
    client.wait(lambda: refusals(receipts), "the receipt")
    (receipt,) = refusals(receipts)
    assert (receipt.name, receipt.message) == (f"{AGENT}: safety/answer", response.message)


def test_the_services_that_name_no_question_are_gone(client: Client) -> None:
    def names() -> set[str]:
        return {name for name, _ in client.node.get_service_names_and_types()}

    wanted = {f"/{AGENT}/safety/refuse", SERVICE}
    client.wait(lambda: wanted <= names(), "the services that stay")
    assert not {f"/{AGENT}/safety/approve", f"/{AGENT}/safety/approve_kind"} & names()
