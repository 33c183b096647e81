"""Goals by the hundred at once: each is answered, and each refusal leaves a receipt."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import Client, bridge, refusals, write_world
from planner_msgs.action import ExecutePrimitive
from rclpy.action import ActionClient
from std_srvs.srv import Trigger

from planner.ros import qos
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode

FLOOD = 500


@pytest.mark.slow
def test_as_many_goals_as_come_at_once_are_all_answered(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    world = write_world(tmp_path, small_house, small_episode)
    # So slow that the one that walks is at it until the last was answered.
    with bridge(episode=world, rate=0.05):
        client = Client()
        flood(client)
        client.close()


def flood(client: Client) -> None:
    receipts = client.receipts()
    action = ActionClient(
        client.node,
        ExecutePrimitive,
        "/agent_0/primitive",
        goal_service_qos_profile=qos.REQUESTS,
        result_service_qos_profile=qos.REQUESTS,
    )
    client.wait(action.server_is_ready, "the action")
    goal = ExecutePrimitive.Goal(name="navigate", heading_rad=math.nan, standoff_m=math.nan)
    goal.target.header.frame_id = "map"
    goal.target.point.x, goal.target.point.y = 6.8, 1.8
    codes: list[int] = []
    handles: list[Any] = []

    def accepted(done: Any) -> None:
        handles.append(done.result())
        asked = done.result().get_result_async()
        asked.add_done_callback(lambda ended: codes.append(ended.result().result.code))

    for _ in range(FLOOD):
        action.send_goal_async(goal).add_done_callback(accepted)
    client.wait(lambda: len(handles) == FLOOD, f"the acceptance of all {FLOOD}")
    client.wait(lambda: len(codes) >= FLOOD - 1, "all results")
    assert codes.count(PrimitiveCode.BUSY) >= FLOOD - 1
    assert client.call(Trigger, "/agent_0/stop").success
    client.wait(lambda: len(codes) == FLOOD, "the result of the one that walked")
    client.wait(lambda: len(refusals(receipts)) >= FLOOD - 1, "a receipt of each")
    action.destroy()
