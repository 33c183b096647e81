"""How a node's process ends, and what does not end it."""

from __future__ import annotations

import subprocess
import sys

import pytest

NODE = """
import sys
import rclpy
from planner.ros.guard import essential
from planner.ros.lifecycle import run_node
from planner.world.errors import PlannerError
from planner_msgs.action import FollowInstruction
from rclpy.action import ActionClient
from rclpy.node import Node

class Busy(Node):
    def __init__(self):
        super().__init__("busy")
        self.create_timer(0.05, {timer})
        self.create_timer(2.5, rclpy.try_shutdown)

    def work(self):
        if {stopped}:
            rclpy.try_shutdown()
        {work}

sys.exit(run_node(Busy, ["busy"]))
"""
CLIENT = 'ActionClient(self, FollowInstruction, "/instruct")'
DEFECT = 'raise ValueError("a defect")'
GIVES_UP = 'raise PlannerError("nobody is there")'
ORDINARY, ESSENTIAL = "self.work", "essential(self.work)"


def run(**parts: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", NODE.format(**parts)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("timer", [ORDINARY, ESSENTIAL])
@pytest.mark.parametrize("work", [CLIENT, DEFECT])
def test_what_a_shutdown_causes_is_a_clean_end(work: str, timer: str) -> None:
    """The signal handler shuts ROS down at any moment, also before an action client is made."""
    ended = run(stopped=True, work=work, timer=timer)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("work", [DEFECT, GIVES_UP])
def test_a_callback_that_fails_again_and_again_is_reported_once_and_ends_nothing(work: str) -> None:
    ended = run(stopped=False, work=work, timer=ORDINARY)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("Traceback") == 1
    assert "a timer failed, the node goes on" in ended.stderr


def test_a_defect_of_an_essential_callback_ends_the_node_with_its_traceback() -> None:
    ended = run(stopped=False, work=DEFECT, timer=ESSENTIAL)
    assert ended.returncode == 1
    assert ended.stderr.rstrip().endswith("ValueError: a defect")


def test_an_essential_callback_that_gives_up_ends_the_node_in_one_line() -> None:
    ended = run(stopped=False, work=GIVES_UP, timer=ESSENTIAL)
    assert (ended.returncode, ended.stderr) == (1, "error: nobody is there\n")
