"""`planner operate`: an operator's services by one command, before the emulated robot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import rclpy
from bridge_harness import Client, bridge
from planner_msgs.action import ExecutePrimitive

from planner.environment import ros_environment
from planner.network import PROFILES, RANGE, SETTING, TOKEN
from planner.ros.clients import operator_node
from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveCode

AGENT = "agent_0"
CLI = (sys.executable, "-m", "planner.cli")


def test_claim_power_on_and_stand_let_a_robot_move(client: Client) -> None:
    environment = dict(ros_environment(os.environ))
    robot = subprocess.Popen([*CLI, "robot-emulator", "--house", "train_0"], env=environment)
    try:
        with bridge(backend="ros", house="train_0"):
            ended: ExecutePrimitive.Result = client.do("look", (4.0, 2.0, 0.5))
            assert ended.code == PrimitiveCode.NOT_ALLOWED
            done = subprocess.run(
                [*CLI, "operate", AGENT, "claim", "power_on", "stand"],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            for answer in ("claimed", "motors on", "standing"):
                assert answer in done.stdout
            # What is lacking now is somebody who attends, not the operator.
            ended = client.do("look", (4.0, 2.0, 0.5))
            assert "planner attend" in ended.text
    finally:
        robot.terminate()
        robot.wait(30)


def test_a_command_that_may_not_join_leaves_no_ros_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    # Open in name only: nothing beyond this machine is searched.
    for name, value in ((SETTING, "open"), (PROFILES, ""), (RANGE, "LOCALHOST")):
        monkeypatch.setenv(name, value)
    with pytest.raises(PlannerError, match=TOKEN), operator_node("test", "/"):
        pass
    assert not rclpy.ok()
