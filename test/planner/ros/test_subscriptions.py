"""Nodes read only what is in bounds, and what others send ends no executor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from planner_msgs.msg import InstructStatus
from rclpy.serialization import serialize_message

from planner.ros.guard import guard_of
from planner.ros.subscriptions import checked, reader

ROOT = Path(__file__).resolve().parents[3]
# What subscribes without `listen`, and why that is safe.
OTHERS = {
    "planner/ros/subscriptions.py": "it is `listen`",
    "planner/ros/goal_server.py": "reads ids alone, which are bytes",
    "planner/ros/heartbeat.py": "checks what is taken ahead of the executor, too",
    "planner/ros/lockstep.py": "checks what is taken ahead of the executor, too",
    "sim_bridge/external/node.py": "checks, and says so in the readings",
    "sim_bridge/world_state/node.py": "checks by its clock, and refuses to move",
    "sim_bridge/ros/emulator": "stands for a robot of others",
    "planner/bad_day": "watches, and is watched",
}
# Executors of rclpy, and its functions that make one.
PLAIN = {"SingleThreadedExecutor", "MultiThreadedExecutor", "EventsExecutor"}
SPINS = {"spin", "spin_once"}


def calls(*words: str) -> Iterator[tuple[str, ast.Call, str]]:
    """Each call of a name or a method in files that have one of the words, with the file."""
    for package in ("papers", "planner", "sim_bridge"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name, text = str(path.relative_to(ROOT)), path.read_text()
            if not any(word in text for word in words):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    yield name, node, ast.unparse(node.func)


def test_whoever_subscribes_checks_what_comes() -> None:
    unchecked = set()
    for name, call, function in calls("create_subscription"):
        is_raw = any(k.arg == "raw" for k in call.keywords)
        if function.endswith(".create_subscription") and not is_raw:
            unchecked.add(next((each for each in OTHERS if name.startswith(each)), name))
    assert unchecked - set(OTHERS) == set()


def test_every_executor_is_guarded() -> None:
    plain = {
        (name, function)
        for name, _, function in calls(*PLAIN, "rclpy.spin")
        if function in PLAIN or function in {f"rclpy.{spin}" for spin in SPINS}
    }
    allowed = ("planner/bad_day", "sim_bridge/ros/emulator")
    assert {each for each in plain if not each[0].startswith(allowed)} == set()


@pytest.fixture
def node() -> Iterator[rclpy.node.Node]:
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node("reads", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


def test_what_is_out_of_bounds_is_dropped_and_counted(node: rclpy.node.Node) -> None:
    heard: list[InstructStatus] = []
    take = checked(node, InstructStatus, "/instruct/status", heard.append)
    good = InstructStatus(state=1)
    for message in (InstructStatus(state=255), good):
        take(message)
    assert heard == [good]
    assert guard_of(node).dropped == 1


def test_what_comes_serialised_is_checked_when_it_is_read(node: rclpy.node.Node) -> None:
    read = reader(node, InstructStatus, "/instruct/status")
    assert read(serialize_message(InstructStatus(state=255))) is None
    assert read(b"\0\1\0\0\xff\xff\xff\xff") is None
    assert read(serialize_message(InstructStatus(state=1))).state == 1
    assert guard_of(node).dropped == 2
