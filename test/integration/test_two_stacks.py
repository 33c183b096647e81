"""Two whole stacks in one ROS graph, and bags of theirs that read as any other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bridge_harness import LATCHED, Client, write_world
from planner_msgs.msg import Evaluation

from planner.replay.bag import Bag
from planner.world.episode import Episode
from planner.world.house import House

# Two runs at once, on a machine that others keep busy.
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]
LIMIT_S = 600.0
NAMESPACES = ("left", "right")
GOAL = {
    "propositions": [
        {
            "function_name": "is_on_top",
            "args": {"objects": ["cup_0"], "receptacles": ["table_1", "couch_0"]},
        }
    ]
}


def planner(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "planner.cli", *words],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    """All that a command printed until its good end."""
    text, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, text
    return text


@contextmanager
def two_runs(*words: str, record: Path) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """`planner up` in two namespaces at the same time."""
    runs = {
        name: planner("up", *words, f"namespace:={name}", f"record:={record / name}")
        for name in NAMESPACES
    }
    try:
        yield runs
    finally:
        for run in runs.values():
            run.terminate()
            run.wait(LIMIT_S)


def test_two_runs_come_to_their_verdicts_and_their_bags_read_as_any_other(
    tmp_path: Path, small_house: House, small_episode: Episode, client: Client
) -> None:
    task = small_episode.model_copy(update={"evaluation": GOAL})
    words = ["planner:=expert", f"episode:={write_world(tmp_path, small_house, task)}"]
    words += ["paced:=false", "narrate:=true", "agents:=1", "cameras:=hand", "camera_hz:=2"]
    found: set[str] = set()
    with two_runs(*words, record=tmp_path) as runs:

        def ended() -> bool:
            found.update(name for name, _ in client.node.get_topic_names_and_types())
            return all(run.poll() is not None for run in runs.values())

        client.wait(ended, "the end of both runs", LIMIT_S)
        logs = {name: said(run) for name, run in runs.items()}
    outside = {name for name in found if not name.startswith(("/left/", "/right/"))}
    assert outside <= {"/rosout", "/parameter_events", "/diagnostics"}
    assert {"/left/world/state", "/right/agent_0/skill/heartbeat"} <= found
    for name, log in logs.items():
        assert "success  percent_complete: 1.00" in log, log
        bag = Bag(tmp_path / name / "bag")
        assert not [topic for topic in bag.topics if topic.startswith(("/left", "/right"))]
        statuses = {s.name for m in bag.messages(("/diagnostics",)) for s in m.content.status}
        assert {"bridge: world", "recorder: bag"} <= statuses
        assert not [status for status in statuses if status.startswith("/")]

    folder = str(tmp_path / "left" / "bag")
    assert re.search(r" success +1\.00 .* the same ", said(planner("evaluate", folder)))
    reported = said(planner("report", folder, "-o", str(tmp_path / "report")))
    assert re.search(r"success, 100% of the task, \d+ steps, judged from the bag$", reported, re.M)
    exported = ("--to", "csv", "--topics", "/evaluation/result", "-o", str(tmp_path / "csv"))
    said(planner("export", folder, *exported))
    assert [path.name for path in (tmp_path / "csv").iterdir()]
    heard = client.listen(Evaluation, "/evaluation/result", LATCHED)
    replay = planner("replay", folder, "--rate", "max", "--wait-for-subscribers", "60")
    client.wait(lambda: heard, "the verdict from the bag", LIMIT_S)
    said(replay)
    assert heard[-1].status == Evaluation.SUCCEEDED
