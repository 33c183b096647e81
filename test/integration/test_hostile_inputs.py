"""Inputs that no sane program sends, to everything that listens: no process ends by them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PLANNER = Path(sys.executable).with_name("planner")
INPUTS = 1000


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
