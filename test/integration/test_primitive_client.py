"""The client of primitives before a bridge whose messages come late, or whose link is lost."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import Client
from diagnostic_msgs.msg import DiagnosticStatus
from planner_msgs.action import ExecutePrimitive
from rclpy.action import ActionServer

from planner.ros.conversions import stamped_pose, time_message
from planner.ros.primitives import Patience, PrimitiveClient, result_message
from planner.world.agents import capabilities_of
from planner.world.geometry import Pose
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult

ENDED_S = 5.0
AT_END = Pose.planar(1.0, 2.0)
# What a bridge says whose robot does not answer, or whose executive was not heard.
LINK_LOST = PrimitiveResult(PrimitiveCode.NOT_ALLOWED, "no answer for 1.1 s", rule=7)
UNATTENDED = PrimitiveResult(PrimitiveCode.NOT_ALLOWED, "no executive attends", rule=8)
DONE = PrimitiveResult(PrimitiveCode.SUCCESS, "done")


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def primitives(client: Client, **pose: Any) -> PrimitiveClient:
    """Before a bridge whose last feedback is of a moment before the end."""

    def execute(goal: Any) -> ExecutePrimitive.Result:
        before = stamped_pose(ENDED_S - 1.0, "map", Pose.planar(0.0, 0.0))
        goal.publish_feedback(ExecutePrimitive.Feedback(pose=before))
        goal.succeed()
        return ExecutePrimitive.Result(stamp=time_message(ENDED_S), **pose)

    ActionServer(client.node, ExecutePrimitive, "/agent_0/primitive", execute)
    robot = capabilities_of("robot")
    assert robot is not None
    made = PrimitiveClient(client.node, "agent_0", robot, lambda: None, lambda: None)
    client.wait(made._client.is_ready, "the bridge")
    return made


def test_a_primitive_ends_with_the_pose_of_its_end(client: Client) -> None:
    made = primitives(client, pose=stamped_pose(ENDED_S, "map", AT_END))
    handle = made.start(Primitive("look"))
    result = client.wait(lambda: made.poll(handle).result, "the end")
    assert result.code is PrimitiveCode.SUCCESS
    assert made.base() == AT_END
    # The feedback may come behind the result.
    client.idle(0.2)
    assert made.base() == AT_END


def test_without_a_pose_in_the_result_that_of_the_feedback_stays(client: Client) -> None:
    made = primitives(client)
    handle = made.start(Primitive("look"))
    assert client.wait(lambda: made.poll(handle).result, "the end").succeeded
    assert made.base() in (None, Pose.planar(0.0, 0.0))


def test_a_result_out_of_bounds_is_a_fault_and_no_place(client: Client) -> None:
    nowhere = stamped_pose(ENDED_S, "map", Pose((math.nan, 1e18, 0.0)))
    made = primitives(client, pose=nowhere)
    handle = made.start(Primitive("look"))
    result = client.wait(lambda: made.poll(handle).result, "the end")
    assert result.code is PrimitiveCode.BACKEND_FAULT
    assert "out of bounds: pose.pose.position.x: not a number" in result.text
    assert made.base() in (None, Pose.planar(0.0, 0.0))


def test_a_client_that_found_no_bridge_is_created_anew_while_the_goal_waits(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = primitives(client, pose=stamped_pose(ENDED_S, "map", AT_END))
    monkeypatch.setattr(made._client._client, "server_is_ready", lambda: False)
    handle = made.start(Primitive("look"))
    result = client.wait(lambda: made.poll(handle).result, "the end")
    assert result.code is PrimitiveCode.SUCCESS, result.text


class Bridge:
    """A stand-in for a bridge that answers each goal with the next of its results."""

    def __init__(
        self, client: Client, *results: PrimitiveResult, moves: bool, budget_s: float, heard: bool
    ) -> None:
        self.results, self.moves, self.asked_s = list(results), moves, list[float]()
        ActionServer(client.node, ExecutePrimitive, "/agent_0/primitive", self._execute)
        robot = capabilities_of("robot")
        assert robot is not None
        patience = Patience(budget_s, lambda: time.monotonic() if heard else -math.inf)
        self.client = client
        self.port = PrimitiveClient(
            client.node, "agent_0", robot, lambda: None, lambda: None, patience=patience
        )
        client.wait(self.port._client.is_ready, "the bridge")

    def _execute(self, goal: Any) -> ExecutePrimitive.Result:
        self.asked_s.append(time.monotonic())
        if self.moves:
            goal.publish_feedback(ExecutePrimitive.Feedback(phase="at it"))
            time.sleep(0.1)
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        (goal.succeed if result.succeeded else goal.abort)()
        return result_message(result)

    def end(self, name: str) -> PrimitiveResult:
        handle = self.port.start(Primitive(name))
        found: PrimitiveResult = self.client.wait(
            lambda: self.port.poll(handle).result, f"the end of {name}"
        )
        return found


def bridge(
    client: Client,
    *results: PrimitiveResult,
    moves: bool = False,
    budget_s: float = 20.0,
    heard: bool = True,
) -> Bridge:
    return Bridge(client, *results, moves=moves, budget_s=budget_s, heard=heard)


@pytest.mark.parametrize("lost", [LINK_LOST, UNATTENDED], ids=["link", "executive"])
def test_what_an_outage_ends_goes_on_after_it(client: Client, lost: PrimitiveResult) -> None:
    made = bridge(client, lost, lost, DONE, moves=True)
    assert made.end("navigate").succeeded
    assert len(made.asked_s) == 3
    pauses = [after - before for before, after in zip(made.asked_s, made.asked_s[1:], strict=False)]
    assert min(pauses) >= 0.5, "a bridge that refuses is not asked without a pause"


def test_an_outage_beyond_the_budget_fails_once_with_the_reason_of_the_bridge(
    client: Client,
) -> None:
    made = bridge(client, LINK_LOST, budget_s=1.0)
    result = made.end("navigate")
    assert (result.code, result.text) == (LINK_LOST.code, LINK_LOST.text)
    assert len(made.asked_s) >= 2


@pytest.mark.parametrize(
    "refusal",
    [UNATTENDED, PrimitiveResult(PrimitiveCode.NOT_ALLOWED, "it is not claimed", rule=17)],
    ids=["never attended", "not claimed"],
)
def test_what_only_a_person_can_change_is_not_waited_for(
    client: Client, refusal: PrimitiveResult
) -> None:
    made = bridge(client, refusal, heard=False)
    assert made.end("navigate").text == refusal.text
    assert len(made.asked_s) == 1


def test_a_call_that_waits_for_the_link_is_canceled_at_once(client: Client) -> None:
    made = bridge(client, LINK_LOST)
    handle = made.port.start(Primitive("navigate"))
    client.wait(lambda: "waiting for the link" in made.port.poll(handle).phase, "the outage")
    made.port.cancel(handle)
    ended = made.port.poll(handle).result
    assert ended is not None
    assert ended.code is PrimitiveCode.CANCELED
    client.idle(1.0)
    assert len(made.asked_s) == 1


def test_a_stop_of_the_operator_ends_what_waits_for_the_link(client: Client) -> None:
    made = bridge(client, LINK_LOST)
    receipts = client.node.create_publisher(DiagnosticStatus, "/agent_0/safety/receipts", 10)
    client.wait(receipts.get_subscription_count, "the reader of receipts")
    handle = made.port.start(Primitive("navigate"))
    client.wait(lambda: "waiting for the link" in made.port.poll(handle).phase, "the outage")
    for name in ("agent_0: navigate", "agent_1: stop"):
        receipts.publish(DiagnosticStatus(name=name))
    client.idle(0.1)
    assert made.port.poll(handle).result is None
    receipts.publish(DiagnosticStatus(name="agent_0: stop"))
    ended = client.wait(lambda: made.port.poll(handle).result, "its end")
    # If a request was on its way just then, the bridge's refusal of it is the last.
    assert ended.code in (PrimitiveCode.STOPPED, LINK_LOST.code)


@pytest.mark.parametrize(
    ("name", "found"),
    [("pick", PrimitiveCode.HAND_FULL), ("place", PrimitiveCode.HAND_EMPTY)],
)
def test_a_grasp_that_closed_while_the_link_was_lost_counts(
    client: Client, name: str, found: PrimitiveCode
) -> None:
    made = bridge(client, LINK_LOST, PrimitiveResult(found, "found so"), moves=True)
    assert made.end(name).code is PrimitiveCode.SUCCESS


def test_a_full_hand_before_anything_moved_stays_a_refusal(client: Client) -> None:
    full = PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
    made = bridge(client, LINK_LOST, full)
    assert made.end("pick").code is PrimitiveCode.HAND_FULL
