"""The share of a busy machine that the bridge of a robot gets."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# In a process of its own: its priority is not given back.
TRIAL = """
import os, sys, threading
from sim_bridge.priority import raise_priority
release = threading.Event()
threading.Thread(target=release.wait).start()
if sys.argv[1] == "refused":
    def refuse(*_): raise PermissionError
    os.setpriority = refuse
print(raise_priority(os.getpriority(os.PRIO_PROCESS, 0) - 3))
print(*sorted({os.getpriority(os.PRIO_PROCESS, int(t)) for t in os.listdir("/proc/self/task")}))
release.set()
"""


def trial(word: str) -> list[str]:
    command = [sys.executable, "-c", TRIAL, word]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def may_raise() -> bool:
    command = [sys.executable, "-c", "import os; os.nice(-3)"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not may_raise(), reason="this user may not raise a process's priority")
def test_every_thread_gets_it() -> None:
    assert trial("raised") == ["", str(max(-20, os.getpriority(os.PRIO_PROCESS, 0) - 3))]


def test_where_it_is_refused_it_says_what_would_allow_it() -> None:
    problem, nice = trial("refused")
    assert "/etc/security/limits.conf" in problem
    assert nice == str(os.getpriority(os.PRIO_PROCESS, 0))
