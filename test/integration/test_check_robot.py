"""`planner check robot` before a robot in a process of its own, and before none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bridge_harness import Client
from geometry_msgs.msg import Twist

from planner import cli
from planner.environment import ros_environment
from planner.world.share import config_dir

SHIPPED = config_dir() / "ros.yaml"


def test_all_of_the_emulated_robot_is_found_and_it_is_sent_nothing(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [sys.executable, "-m", "planner.cli", "robot-emulator", "--house", "train_0"]
    sent = client.listen(Twist, "/cmd_vel", 10)
    robot = subprocess.Popen(words, env=dict(ros_environment(os.environ)))
    try:
        assert cli.main(["check", "robot", str(SHIPPED), "--no-reach"]) == 0
        client.idle(1.0)
    finally:
        robot.terminate()
        robot.wait(30)
    said = capfd.readouterr().out
    for found in ("/odom", "map to odom", "/map", "/navigate_to_pose", "/move_action"):
        assert f"found: {found}" in said
    assert "found: 11 joints on /joint_states" in said
    assert "found: /head_camera/rgb/image_raw" in said
    # The description that it published was compared as well.
    assert "passed   arm.carry" in said
    assert sent == []


def test_of_no_robot_everything_is_missing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(SHIPPED.read_text() + "wait_s: 1.0\n")
    assert cli.main(["check", "robot", str(file), "--no-reach"]) == 1
    said = capfd.readouterr().out
    assert "missing: nothing on /odom" in said
    assert "missing: no action server /move_action" in said
    assert "found" not in said
