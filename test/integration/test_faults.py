"""Each node of a run killed with SIGKILL in each phase of a task; `planner up` keeps it going."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bridge_harness import write_world
from random_cases import by_day_each

from planner.replay.bag import Bag, read_bag
from planner.replay.judging import Judged, judge
from planner.replay.runs import Request
from planner.world.episode import Episode
from planner.world.house import House

# A task takes some 20 s; each death costs a restart, and the bridge's the whole task.
LIMIT_S = 240.0
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]},
        }
    ]
}
# On the way to a thing, while it is taken, on the way with it in the hand.
PHASES = (r"begins  Navigate\[cup", r"begins  Pick", r"begins  Navigate\[(table|couch)")


class Run:
    """`planner up` with a task, its log read line by line."""

    def __init__(self, episode: Path, record: Path) -> None:
        words = ["planner:=expert", f"episode:={episode}", "agents:=1", "narrate:=true"]
        # What is drawn, sent and recorded is most of what the run costs.
        words += ["cameras:=hand", "camera_hz:=4"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "up", *words, f"record:={record}"],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._pids: dict[str, int] = {}
        self._guard = threading.Timer(LIMIT_S, self.process.kill)
        self._guard.start()

    def kill_in_each_phase(self, victim: str) -> int:
        """Follows the log to its end; returns how often the victim was killed."""
        assert self.process.stdout is not None
        phases = list(PHASES)
        for line in self.process.stdout:
            self.lines.append(line)
            started = re.match(r"\[planner *\] (\w+) started, process (\d+)", line)
            if started:
                self._pids[started[1]] = int(started[2])
            elif phases and re.search(phases[0], line) and victim in self._pids:
                phases.pop(0)
                os.kill(self._pids.pop(victim), signal.SIGKILL)
        self._guard.cancel()
        self.process.wait()
        return len(PHASES) - len(phases)

    @property
    def log(self) -> str:
        return "".join(self.lines)


# By day each second one; test_task_planner.py and test_recorder.py kill the others, too.
NODES = ("bridge", "skill_executor", "memory", "task_planner", "evaluator", "recorder")


@pytest.mark.slow
@pytest.mark.parametrize("victim", by_day_each(2, NODES))
def test_a_node_killed_in_each_phase_costs_neither_the_task_nor_what_is_stored(
    tmp_path: Path, small_house: House, small_episode: Episode, victim: str
) -> None:
    episode = write_world(
        tmp_path, small_house, small_episode.model_copy(update={"evaluation": GOAL})
    )
    run = Run(episode, tmp_path / "run")
    assert run.kill_in_each_phase(victim) >= 2, run.log
    assert run.process.returncode == 0, run.log
    assert "verdict: success" in run.log
    assert "Traceback" not in run.log, run.log
    bags = sorted((tmp_path / "run").glob("bag*"))
    assert len(bags) > 1 if victim == "recorder" else len(bags) == 1
    # One that was killed as it began holds nothing, but is a bag.
    held = [any(read_bag(bag)) for bag in bags]
    assert held[0]
    assert held[-1]
    if victim != "recorder":
        topics = {message.topic for message in Bag(bags[0]).raw()}
        assert topics >= {"/map", "/house/markers", "/memory/markers", "/world/state", "/tf"}
    if victim != "recorder":
        (judged,) = judge(bags[0], Request(episode=str(episode)))
        assert isinstance(judged, Judged), judged
        assert judged.verdict.success
        assert judged.agrees
    stores = list((tmp_path / "run" / "memory").glob("*.sqlite"))
    assert stores
    for store in stores:
        with sqlite3.connect(store) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
