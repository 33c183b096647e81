"""Inputs that no sane program sends, to everything that listens: no process ends by them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planner.command_line import EXIT_INTERRUPTED

PLANNER = Path(sys.executable).with_name("planner")
INPUTS = 1000
STARTED = re.compile(r"(\w+) started, process (\d+)")


@pytest.mark.slow
def test_every_node_lives_on_and_the_task_succeeds_afterwards(tmp_path: Path) -> None:
    words = [PLANNER, "bad-day", "--hostile", str(INPUTS), "--seed", "1", "--keep", str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "violations: 0"), (
        ended.stdout + ended.stderr
    )
    sent = re.search(r"(\d+) inputs in \d+ s to (\d+) ends: (.*)", ended.stdout)
    assert sent is not None
    assert int(sent[1]) >= INPUTS
    assert int(sent[2]) > 200
    assert set(re.findall(r"of kind (\w+)", sent[3])) == {
        "message",
        "bytes",
        "request",
        "goal",
        "cancel",
    }
    nodes = re.search(r"^nodes: ([\w, ]+);", ended.stdout, re.MULTILINE)
    assert nodes is not None
    assert {"bridge", "memory", "skill_executor", "task_planner"} <= set(nodes[1].split(", "))


@pytest.mark.slow
def test_a_terminated_attack_stops_its_stack(tmp_path: Path) -> None:
    words = [PLANNER, "bad-day", "--hostile", "100000", "--seed", "1", "--keep", str(tmp_path)]
    log = tmp_path / "hostile_1" / "up.log"
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as attack:
        try:
            until_s = time.monotonic() + 60.0
            while not (log.exists() and len(STARTED.findall(log.read_text())) >= 4):
                assert time.monotonic() < until_s, "the nodes did not start"
                time.sleep(0.1)
        finally:
            attack.send_signal(signal.SIGTERM)
    assert attack.returncode == EXIT_INTERRUPTED
    left = [name for name, pid in STARTED.findall(log.read_text()) if Path("/proc", pid).exists()]
    assert not left
