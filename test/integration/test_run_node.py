"""How a node's process ends when ROS is shut down in the midst of its work."""

from __future__ import annotations

import subprocess
import sys

import pytest

NODE = """
import sys
import rclpy
from planner.ros.lifecycle import run_node
from planner_msgs.action import FollowInstruction
from rclpy.action import ActionClient
from rclpy.node import Node

class Busy(Node):
    def __init__(self):
        super().__init__("busy")
        self.create_timer(0.05, self.work)

    def work(self):
        if {stopped}:
            rclpy.try_shutdown()
        {work}

sys.exit(run_node(Busy, ["busy"]))
"""
CLIENT = 'ActionClient(self, FollowInstruction, "/instruct")'
DEFECT = 'raise ValueError("a defect")'


@pytest.mark.parametrize(
    ("stopped", "work", "status"), [(True, CLIENT, 0), (True, DEFECT, 0), (False, DEFECT, 1)]
)
def test_only_what_a_shutdown_causes_is_a_clean_end(stopped: bool, work: str, status: int) -> None:
    """The signal handler shuts ROS down at any moment, also before an action client is made."""
    ended = subprocess.run(
        [sys.executable, "-c", NODE.format(stopped=stopped, work=work)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == status, ended.stderr
    assert ("Traceback" in ended.stderr) == (status != 0)
