"""The client of primitives before a bridge whose messages come in another order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from bridge_harness import Client
from planner_msgs.action import ExecutePrimitive
from rclpy.action import ActionServer

from planner.ros.conversions import stamped_pose, time_message
from planner.ros.primitive_client import PrimitiveClient
from planner.world.agents import capabilities_of
from planner.world.geometry import Pose
from planner.world.primitive import Primitive, PrimitiveCode

ENDED_S = 5.0
AT_END = Pose.planar(1.0, 2.0)


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
