"""Senseless numbers and late questions over ROS: the bridge lives on, answers and notes each."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from bridge_harness import BEST_EFFORT, Client, bridge, refusals
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PointStamped
from planner_msgs.action import ExecutePrimitive
from planner_msgs.srv import AnswerQuestion, LoadEpisode
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger
from unique_identifier_msgs.msg import UUID

from planner.ros.clients import why_no_result
from planner.world.primitive import PrimitiveCode


@pytest.fixture(scope="module")
def shared(world: Path) -> Iterator[Client]:
    with bridge(episode=world, rate=1.0):
        made = Client()
        yield made
        made.close()


@pytest.fixture
def client(shared: Client, world: Path) -> Iterator[Client]:
    answer = shared.call(LoadEpisode, "/world/load", episode=str(world))
    assert answer.success, answer.message
    yield shared
    shared.forget()


@pytest.fixture
def receipts(client: Client) -> list[DiagnosticStatus]:
    return client.receipts()


@pytest.mark.parametrize(
    ("name", "fields", "code", "says"),
    [
        ("navigate", {"target": (1e18, 0, 0)}, PrimitiveCode.BAD_TARGET, "target.point.x: 1e+18"),
        ("pick", {"target": (0, 1e308, 0)}, PrimitiveCode.BAD_TARGET, "target.point.y: 1e+308"),
        ("navigate", {"target": (math.nan, 0, 0)}, PrimitiveCode.BAD_TARGET, "nan"),
        ("navigate", {"target": (1, 1, 0), "standoff_m": 1e18}, PrimitiveCode.BAD_TARGET, "1e+18"),
        ("look", {"target": (1, 1, 0), "timeout_s": 1e18}, PrimitiveCode.BAD_TARGET, "timeout_s"),
        ("x" * 100_000, {}, PrimitiveCode.UNKNOWN_PRIMITIVE, "name: 100000 characters"),
        ("look", {"frame": "x" * 100_000}, PrimitiveCode.BAD_FRAME, "frame_id: 100000 characters"),
        ("dance", {"target": (1, 1, 0)}, PrimitiveCode.UNKNOWN_PRIMITIVE, "dance"),
    ],
)
def test_an_invalid_goal_is_refused_and_leaves_a_receipt(
    client: Client,
    receipts: list[DiagnosticStatus],
    name: str,
    fields: dict[str, Any],
    code: PrimitiveCode,
    says: str,
) -> None:
    result = client.do(name, **fields)
    assert result.code == code
    assert says in result.text
    assert len(result.text) < 1000
    client.wait(lambda: refusals(receipts), "the receipt")
    assert says in refusals(receipts)[-1].message
    assert client.do("look", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS


def look(client: Client, target: PointStamped) -> Any:
    goal = ExecutePrimitive.Goal(
        name="look", target=target, heading_rad=math.nan, standoff_m=math.nan
    )
    sent = client.action().send_goal_async(goal)
    client.wait(sent.done, "the goal's acceptance")
    asked = sent.result().get_result_async()
    client.wait(asked.done, "the result")
    return asked.result().result


def test_a_stamp_is_of_about_now(client: Client) -> None:
    clock = client.hear(Clock, "/clock", BEST_EFFORT).clock
    stamped = PointStamped()
    stamped.header.frame_id, stamped.point.x, stamped.point.y = "map", 1.0, 1.4
    stamped.header.stamp = clock
    assert look(client, stamped).code == PrimitiveCode.SUCCESS
    stamped.header.stamp.sec += 60
    result = look(client, stamped)
    assert result.code == PrimitiveCode.BAD_TARGET
    assert "target.header.stamp" in result.text
    assert "s ahead" in result.text


def test_what_is_busy_leaves_a_receipt(client: Client, receipts: list[DiagnosticStatus]) -> None:
    walk = client.start("navigate", (6.8, 1.8, 0.0))
    assert client.do("look", (1.0, 1.4, 0.0)).code == PrimitiveCode.BUSY
    client.wait(lambda: refusals(receipts), "the receipt")
    assert "doing something else" in refusals(receipts)[-1].message
    walk.cancel()
    assert walk.result().code == PrimitiveCode.CANCELED


def test_an_answer_that_nobody_asked_for_leaves_a_receipt(
    client: Client, receipts: list[DiagnosticStatus]
) -> None:
    assert not client.call(Trigger, "/agent_0/safety/refuse").success
    client.wait(lambda: refusals(receipts), "the receipt")
    assert "nothing waits" in refusals(receipts)[-1].message


def test_an_approval_at_an_invalid_place_leaves_a_receipt(
    client: Client, receipts: list[DiagnosticStatus]
) -> None:
    place = PointStamped()
    place.header.frame_id, place.point.x = "map", 1e18
    response = client.call(
        AnswerQuestion, "/agent_0/safety/answer", approve=True, has_target=True, target=place
    )
    assert not response.success
    client.wait(lambda: refusals(receipts), "the receipt")
    assert "point.x: 1e+18 is outside" in refusals(receipts)[-1].message == response.message


def test_a_result_that_nobody_knows_is_no_success(client: Client) -> None:
    # As of a goal that ended long ago, or was given to a bridge that has ended.
    answer = client.call(
        ExecutePrimitive.Impl.GetResultService,
        "/agent_0/primitive/_action/get_result",
        goal_id=UUID(uuid=list(uuid.uuid4().bytes)),
    )
    assert answer.status == GoalStatus.STATUS_UNKNOWN
    assert answer.result.code == PrimitiveCode.BACKEND_FAULT
    assert "no such goal" in why_no_result(answer)
