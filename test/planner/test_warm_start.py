"""A fork that runs a program is what a fresh interpreter with that program would be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.supervisor import has_ended
from planner.warm_start import Fork, can_fork

TELLS = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv,
    "first": sys.path[0],
    "environment": dict(os.environ),
    "name": __name__,
    "comm": open("/proc/self/comm").read().strip(),
    "group": os.getpgid(0) == os.getpid(),
    "files": sorted(map(int, os.listdir("/proc/self/fd")))[:3],
    "open": len(os.listdir("/proc/self/fd")),
    "read": sys.stdin.read(),
    "int": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    "term": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
}))
sys.exit(7)
"""


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "PLANNER_TEST_OF_FORKS": "yes"}


def _program(folder: Path, code: str) -> list[str]:
    path = folder / "program"
    path.write_text(code)
    return [sys.executable, str(path), "--ros-args", "-p", "a:=b"]


def _told(fork: Fork) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(fork.stdout.read())
    return told


def test_it_has_its_own_arguments_environment_streams_and_group(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    del environment["HOME"]
    words = _program(tmp_path, TELLS)
    fork = Fork("skill_executor_of_somebody", words, environment)
    told = _told(fork)
    assert fork.wait() == 7
    assert told["argv"] == words[1:]
    assert told["first"] == str(tmp_path)
    assert told["environment"] == environment
    assert told["name"] == "__main__"
    assert told["comm"] == "skill_executor_"
    assert told["group"]
    assert told["files"] == [0, 1, 2]
    # The fourth is the listing itself.
    assert told["open"] == 4
    assert told["read"] == ""
    assert told["int"]
    assert told["term"]


def test_what_this_process_does_on_a_signal_is_not_for_the_fork(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        words = _program(tmp_path, "import time; print('ready', flush=True); time.sleep(600)")
        fork = Fork("node", words, environment)
        os.killpg(fork.pid, signal.SIGTERM)
        assert fork.wait() == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert not heard


@pytest.mark.slow
def test_both_streams_are_read_and_a_defect_is_reported(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    code = "import sys, os\nos.write(1, b'raw\\n')\nprint('err', file=sys.stderr)\n1 / 0"
    fork = Fork("node", _program(tmp_path, code), environment)
    said = fork.stdout.read().decode()
    assert fork.wait() == 1
    assert said.startswith("raw\nerr\n")
    assert "ZeroDivisionError" in said


def test_a_program_is_not_forked_where_it_would_load_other_modules() -> None:
    here = dict(os.environ)
    assert can_fork(here)
    assert not can_fork({**here, "PYTHONPATH": "/opt/ros/jazzy/lib/python3.12/site-packages"})
    assert not can_fork({**here, "LD_LIBRARY_PATH": "/opt/ros/jazzy/lib"})
    assert not can_fork({**here, "PLANNER_START": "exec"})


@pytest.mark.slow
def test_one_that_ended_while_another_started_is_still_told_of(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    words = _program(tmp_path, "raise SystemExit(78)")
    early = Fork("early", words, environment)
    os.waitid(os.P_PID, early.pid, os.WEXITED | os.WNOWAIT)
    late = Fork("late", words, environment)
    assert has_ended(early.pid)
    assert early.wait() == 78
    assert late.wait() == 78
    assert has_ended(late.pid)


@pytest.mark.slow
def test_a_fork_loads_nothing_more_for_its_first_message() -> None:
    code = """
import sys
from planner.warm_start import load_common
load_common()
before = set(sys.modules)
from rclpy.serialization import serialize_message
from std_msgs.msg import Header
serialize_message(Header())
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"lark", "rosidl_generator_py", "rosidl_parser"}.isdisjoint(done.stdout.split())
