"""What a node's process says of exceptions that nobody can catch."""

from __future__ import annotations

import subprocess
import sys

BEGINNING = """
import sys
from rclpy.task import Future
from planner.ros.lifecycle import run_node

def make_node():
    {deed}
    raise KeyboardInterrupt

sys.exit(run_node(make_node, ["node"]))
"""
LEFT_BY_CTRL_C = "future = Future.__new__(Future); del future"
ANY_OTHER = "class Broken:\n        def __del__(self): raise ValueError('a defect')\n    Broken()"


def said(deed: str) -> str:
    command = [sys.executable, "-c", BEGINNING.format(deed=deed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stderr


def test_a_future_that_ctrl_c_left_half_made_is_no_news() -> None:
    assert said(LEFT_BY_CTRL_C) == ""


def test_any_other_one_is_told() -> None:
    assert "ValueError: a defect" in said(ANY_OTHER)
