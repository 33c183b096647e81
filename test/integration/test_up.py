"""`run_node` and `planner up` with real ROS nodes in processes of their own."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.command_line import EXIT_CONFIGURATION, EXIT_FAILED, SILENT_AFTER_S

NODE = """#!/usr/bin/env python3
import sys
import threading
import rclpy
from rclpy.node import Node
from planner.ros import parameters
from planner.ros.guard import essential
from planner.ros.lifecycle import run_node
from planner.world.errors import PlannerError

class Greeter(Node):
    def __init__(self):
        super().__init__("unnamed")
        self.house = parameters.text(self, "house", "", "name of the house")
        self.seed = parameters.whole(self, "seed", 0, "seed", min_value=0, max_value=9)
        self.rate_hz = parameters.number(self, "rate_hz", 1.0, "rate, Hz", min_value=0.1)
        self.paced = parameters.flag(self, "paced", True, "paced")
        modes = ("good", "breaks", "breaks_after_the_end", "breaks_before_the_end", "is_defect")
        self.mode = parameters.text(self, "mode", "good", "mode", choices=modes)
        values = (self.house, self.seed, self.rate_hz, self.paced)
        self.greeting = ("ready", self.get_fully_qualified_name(), *map(repr, values))
        self.timer = self.create_timer(0.01, essential(self.greet))

    def greet(self):
        self.timer.cancel()
        print(*self.greeting, flush=True)
        if self.mode == "breaks":
            raise PlannerError("the world is gone")
        if self.mode == "breaks_after_the_end":
            rclpy.shutdown()
        if self.mode == "breaks_before_the_end":
            threading.Timer(0.2, rclpy.shutdown).start()
            raise TypeError("Unable to convert function return value to a Python type!")
        if self.mode in ("breaks_after_the_end", "is_defect"):
            raise RuntimeError("Unable to convert call argument '0' to Python object")

    def destroy_node(self):
        print("closed", flush=True)
        super().destroy_node()

sys.exit(run_node(Greeter))
"""

UP = """
import json, sys
from planner.bringup import NodeSpec
from planner.up import run_nodes
sys.exit(run_nodes([NodeSpec(**spec) for spec in json.loads(sys.argv[1])]))
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """An installed executable of a workspace: PREFIX/lib/planner/greeter."""
    file = tmp_path / "lib/planner/greeter"
    file.parent.mkdir(parents=True)
    file.write_text(NODE)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def start(*words: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *words],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line.rstrip("\n")
    raise AssertionError(f"the output ended without {text!r}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_is_asked_to_stop_closes_and_succeeds(
    node: Path, number: signal.Signals
) -> None:
    with start(str(node), "--ros-args", "-p", "rate_hz:=2") as process:
        assert read_until(process, "ready") == "ready /unnamed '' 0 2.0 True"
        process.send_signal(number)
        rest = process.communicate()[0]
    assert process.returncode == 0, rest
    assert rest == "closed\n"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("seed:=10", "unnamed: parameter seed: 10 is greater than 9"),
        ("rate_hz:=fast", "unnamed: parameter rate_hz: 'fast' is not a number"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                ("mode:=odd", "unnamed: parameter mode: 'odd' is not one of good, breaks, "),
                ("rate_hz:=.nan", "unnamed: parameter rate_hz: nan is not finite"),
                ("house:=3", "unnamed: parameter house: "),
            )
        ),
    ],
)
def test_a_wrong_parameter_is_one_line_and_no_reason_to_retry(
    node: Path, setting: str, reason: str
) -> None:
    with start(str(node), "--ros-args", "-p", setting) as process:
        output = process.communicate()[0]
    assert process.returncode == EXIT_CONFIGURATION
    assert output.startswith(f"error: {reason}")
    assert output.count("\n") == 1


def test_an_error_while_running_is_reported_and_closes(node: Path) -> None:
    with start(str(node), "--ros-args", "-p", "mode:=breaks") as process:
        output = process.communicate()[0].splitlines()
    assert process.returncode == EXIT_FAILED
    assert output[1:] == ["error: the world is gone", "closed"]


def test_what_breaks_because_ros_was_shut_down_is_the_end_of_the_node(node: Path) -> None:
    with start(str(node), "--ros-args", "-p", "mode:=breaks_after_the_end") as process:
        output = process.communicate()[0].splitlines()
    assert process.returncode == 0
    # rclpy's own shutdown closes the node, too.
    assert set(output[1:]) == {"closed"}


def test_what_breaks_by_a_signal_before_ros_was_shut_down_is_the_end_too(node: Path) -> None:
    """The signal reaches Python a moment before the thread that shuts ROS down has done so."""
    with start(str(node), "--ros-args", "-p", "mode:=breaks_before_the_end") as process:
        output = process.communicate()[0].splitlines()
    assert process.returncode == 0, output
    assert set(output[1:]) == {"closed"}


def test_what_breaks_while_ros_runs_is_a_defect(node: Path) -> None:
    with start(str(node), "--ros-args", "-p", "mode:=is_defect") as process:
        output = process.communicate()[0]
    assert process.returncode == 1
    assert "RuntimeError: Unable to convert" in output


def test_up_starts_nodes_with_their_names_parameters_and_remappings(node: Path) -> None:
    specs = [
        {
            "name": "greeter",
            "executable": "greeter",
            "namespace": "/agent_0",
            # A text that looks like a number must arrive as text, and an empty one at all.
            "parameters": {"house": "12", "seed": 3, "rate_hz": 5.0, "paced": False},
        },
        {"name": "other", "executable": "greeter", "parameters": {"house": ""}},
    ]
    prefix = str(node.parents[2])
    with start("-c", UP, json.dumps(specs), AMENT_PREFIX_PATH=prefix) as process:
        lines = {read_until(process, "ready"), read_until(process, "ready")}
        assert lines == {
            "[greeter] ready /agent_0/greeter '12' 3 5.0 False",
            "[other  ] ready /other '' 0 1.0 True",
        }
        process.send_signal(signal.SIGINT)
        rest = process.communicate()[0]
    assert process.returncode == 0, rest
    assert "[greeter] closed" in rest
    assert "[other  ] closed" in rest


def test_a_node_says_that_its_supervisor_is_stopped_and_that_it_is_back(node: Path) -> None:
    specs = [{"name": "greeter", "executable": "greeter"}]
    prefix = str(node.parents[2])
    with start("-c", UP, json.dumps(specs), AMENT_PREFIX_PATH=prefix) as process:
        read_until(process, "ready")
        process.send_signal(signal.SIGSTOP)
        time.sleep(SILENT_AFTER_S + 2.0)
        process.send_signal(signal.SIGCONT)
        read_until(process, "`planner up` is silent, stopped or held by its terminal")
        read_until(process, "`planner up` is back")
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


def test_up_gives_each_node_the_parameter_file_and_the_log_level(
    node: Path, tmp_path: Path
) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(
        "/**:\n  ros__parameters: {house: cottage}\nother:\n  ros__parameters: {seed: 4}\n"
    )
    shared = {"executable": "greeter", "params_file": str(file), "log_level": "debug"}
    specs = [
        {"name": "greeter", "parameters": {"house": "castle", "seed": 3}, **shared},
        {"name": "other", "parameters": {"house": "castle"}, **shared},
    ]
    prefix = str(node.parents[2])
    with start("-c", UP, json.dumps(specs), AMENT_PREFIX_PATH=prefix) as process:
        lines = {read_until(process, "] ready"), read_until(process, "] ready")}
        assert lines == {
            "[greeter] ready /greeter 'cottage' 3 1.0 True",
            "[other  ] ready /other 'cottage' 4 1.0 True",
        }
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_up_names_a_missing_executable(node: Path) -> None:
    specs = [{"name": "ghost", "executable": "ghost"}]
    with start("-c", UP, json.dumps(specs)) as process:
        output = process.communicate()[0]
    assert process.returncode == 1
    assert "no executable for node 'ghost' in " in output
