"""Every `ros2` line of README.md and docs/*.md among real nodes.

The wheels bring no `ros2` command. `run` starts the node's file with the same arguments, as
`ros2 run` does; topics, services and actions are used under the name, type and content shown.
"""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graph_kitchen
import pytest
import yaml
from bridge_harness import Client
from documented import ROOT, SHOWN
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient

from planner.environment import ros_environment

LINES = [shlex.split(command) for command in SHOWN if command.startswith("ros2 ")]
EPISODE = "bedside_0"
STACK = {
    # Time stands while nobody acts, so that the nodes reckon only when they are used.
    "bridge": {
        "episode": EPISODE,
        "agents": 1,
        "time_mode": "fast",
        "idle_time": "hold",
        "camera_hz": 2,
    },
    "memory": {"episode": EPISODE},
    "skill_executor": {"episode": EPISODE, "use_sim_time": "true"},
    "evaluator": {"episode": EPISODE},
}


# test_task_planner.py gives instructions, to a planner among the same nodes.
ELSEWHERE = {"/instruct"}


def of(*kind: str) -> list[Any]:
    return [
        pytest.param(words, id=words[len(kind) + 1])
        for words in LINES
        if tuple(words[1 : len(kind) + 1]) == kind and not ELSEWHERE & set(words)
    ]


def started(node: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "nodes" / node), *arguments], env=ros_environment(os.environ)
    )


def stopped(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGINT)
    return process.wait(60)


def type_named(name: str) -> Any:
    """The class of `package/kind/Type`."""
    package, kind, cls = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), cls)


def fill(message: Any, values: dict[str, Any]) -> Any:
    """Sets the fields that a text in YAML gives."""
    for name, value in values.items():
        if isinstance(value, dict):
            fill(getattr(message, name), value)
        else:
            setattr(message, name, value)
    return message


@pytest.mark.slow
@pytest.mark.parametrize("words", of("run", "planner"))
def test_run(words: list[str], tmp_path: Path) -> None:
    client = Client()
    # docs/graph_world.md: a scene graph of the reader's own.
    graph = str(graph_kitchen.written(tmp_path))
    given = [word.replace("/absolute/path/my_graph.json", graph) for word in words[4:]]
    process = started(words[3], *given)
    try:
        client.wait(lambda: words[3] in client.node.get_node_names(), f"node {words[3]}")
    finally:
        status = stopped(process)
        client.close()
    assert status == 0


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    store = {"memory": {"store": tmp_path_factory.mktemp("memory")}}
    nodes = []
    for node, parameters in STACK.items():
        given = {**parameters, **store.get(node, {})}
        pairs = [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
        nodes.append(started(node, "--ros-args", *pairs))
    made = Client()
    yield made
    made.close()
    for process in nodes:
        stopped(process)


@pytest.mark.slow
@pytest.mark.parametrize("words", of("topic", "echo"))
def test_topic_echo(client: Client, words: list[str]) -> None:
    client.wait(
        lambda: client.node.count_publishers(words[3]) > 0, f"somebody who publishes {words[3]}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("words", of("action", "send_goal"))
def test_action_send_goal(client: Client, words: list[str]) -> None:
    kind = type_named(words[4])
    action = ActionClient(client.node, kind, words[3])
    client.wait(action.server_is_ready, words[3])
    sent = action.send_goal_async(fill(kind.Goal(), yaml.safe_load(words[5])))
    client.wait(sent.done, "the goal's acceptance")
    ended = sent.result().get_result_async()
    client.wait(ended.done, "the result", 240.0)
    result = ended.result().result
    assert result.code == 0, result
    action.destroy()


@pytest.mark.slow
@pytest.mark.parametrize("words", of("service", "call"))
def test_service_call(client: Client, words: list[str]) -> None:
    fields = yaml.safe_load(words[5]) if len(words) > 5 else {}
    # Refused while the node has not seen the world yet; asked again until it has.
    client.wait(
        lambda: client.call(type_named(words[4]), words[3], **fields).success,
        f"success of {words[3]}",
    )


# After all others, as the last of these lines shuts the memory down.
@pytest.mark.slow
def test_lifecycle_set(client: Client) -> None:
    kind = type_named("lifecycle_msgs/srv/ChangeState")
    documented = {tuple(words[3:]) for words in LINES if words[1:3] == ["lifecycle", "set"]}
    labels = ("deactivate", "activate", "shutdown")
    assert documented == {("/memory", label) for label in labels}
    for label in labels:
        answer = client.call(kind, "/memory/change_state", transition=Transition(label=label))
        assert answer.success, label


def test_every_line_is_of_a_kind_that_is_run_here() -> None:
    kinds = {tuple(words[1:3]) for words in LINES}
    assert kinds <= {
        ("run", "planner"),
        ("launch", "planner"),  # test_launch.py, where ROS has the launch packages
        ("topic", "echo"),
        ("action", "send_goal"),
        ("service", "call"),
        ("lifecycle", "set"),
    }
    assert Path(ROOT / "test/integration/test_launch.py").is_file()
