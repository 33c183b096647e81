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


INTERRUPTED = """
import os, signal, sys
from rclpy.node import Node
from planner.ros.lifecycle import run_node

class Interrupted:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))

def make_node():
    node = Node("node")
    node.create_timer(0.01, lambda: Interrupted() and None)
    return node

sys.exit(run_node(make_node, ["node"]))
"""


def said(deed: str) -> str:
    command = [sys.executable, "-c", BEGINNING.format(deed=deed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stderr


def test_a_future_that_ctrl_c_left_half_made_is_no_news() -> None:
    assert said(LEFT_BY_CTRL_C) == ""


def test_any_other_one_is_reported() -> None:
    assert "ValueError: a defect" in said(ANY_OTHER)


def test_ctrl_c_amid_a_destructor_ends_the_node_in_silence() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


WRITING = """
import os, signal, sys
from pydantic import TypeAdapter
from pydantic.functional_serializers import PlainSerializer
from typing import Annotated
from rclpy.node import Node
from planner.ros.lifecycle import run_node

def interrupted(_):
    os.kill(os.getpid(), signal.SIGINT)
    return sum(range(1000))

RECORD = TypeAdapter(Annotated[int, PlainSerializer(interrupted)])

def make_node():
    node = Node("node")
    node.create_timer(0.01, lambda: RECORD.dump_json(1) and None)
    return node

sys.exit(run_node(make_node, ["node"]))
"""


def test_ctrl_c_while_a_record_is_written_ends_the_node_in_silence() -> None:
    """Pydantic raises an error of its own then."""
    command = [sys.executable, "-c", WRITING]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
