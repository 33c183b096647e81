"""`planner up` with the real bridge: started, refused a second time, and started again."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from planner.command_line import EXIT_CONFIGURATION, EXIT_USAGE

READY = "time is paced"


def planner_up(*words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "up", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"the log ended without {text!r}:\n" + "".join(seen))


@pytest.fixture
def running() -> Iterator["subprocess.Popen[str]"]:
    with planner_up("house:=train_0") as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
def test_a_bridge_that_is_killed_comes_back(running: "subprocess.Popen[str]") -> None:
    started = read_until(running, "bridge started")
    read_until(running, READY)
    found = re.search(r"process (\d+)", started)
    assert found
    os.kill(int(found[1]), signal.SIGKILL)
    read_until(running, "bridge died, killed by SIGKILL; restart 1 of 5")
    read_until(running, READY)
    running.send_signal(signal.SIGINT)
    rest = running.communicate()[0]
    assert running.returncode == 0, rest
    assert "bridge stopped, status 0" in rest


@pytest.mark.slow
def test_a_second_bridge_in_the_domain_is_refused(running: "subprocess.Popen[str]") -> None:
    read_until(running, READY)
    with planner_up("--house", "train_0") as second:
        output = second.communicate()[0]
    assert second.returncode == EXIT_CONFIGURATION, output
    # One line, and no node of the second run has come near those of the first.
    assert output.startswith("error: another bridge runs in ROS domain ")
    assert output.count("\n") == 1
    assert running.poll() is None


@pytest.mark.slow
def test_a_house_that_is_not_there_is_reported_once() -> None:
    with planner_up("house:=atlantis") as process:
        output = process.communicate()[0]
    assert process.returncode == EXIT_USAGE, output
    (error,) = [line for line in output.splitlines() if "error: " in line]
    assert "atlantis" in error
