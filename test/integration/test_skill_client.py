"""The client of an agent's skills, where the middleware left it without its server."""

from __future__ import annotations

from typing import Any

import pytest
from bridge_harness import Client
from planner_msgs.action import ExecuteSkill
from rclpy.action import ActionServer

from planner.ros.skill_client import SkillClient
from planner.world.skill import SkillCall, SkillName, SkillResult


def test_a_client_that_found_no_server_is_created_anew_while_the_call_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()

    def execute(goal: Any) -> ExecuteSkill.Result:
        goal.succeed()
        return ExecuteSkill.Result(text="Successful execution!")

    ActionServer(client.node, ExecuteSkill, "/agent_0/skill", execute)
    made = SkillClient(client.node, "agent_0")
    monkeypatch.setattr(made._client._client, "server_is_ready", lambda: False)
    monkeypatch.setattr(made._client, "_period_s", 0.5)
    ended: list[SkillResult] = []
    made.begin(SkillCall(SkillName.WAIT), ended.append)

    def has_ended() -> bool:
        made.watch()
        return bool(ended)

    client.wait(has_ended, "the end of the call")
    assert ended[0].succeeded, ended[0].text
    made.destroy()
    client.close()
