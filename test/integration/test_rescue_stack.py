"""A whole bring-up in the rescue world: over ROS a team makes the same calls as in one process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from planner.app.prepared_run import prepare_run
from planner.planning.rescue.rules import RescueRules
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.world.files import read_document
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from sim_bridge.rescue.backend import RescueBackend

EPISODE = "rescue-1-agents-2"
PARAMS = config_dir() / "rescue" / "params.yaml"


def in_one_process() -> set[str]:
    """What each agent did: agent and call."""
    episode, house = load_episode(EPISODE)
    result = prepare_run(RescueBackend(), house, episode, RescueRules).run()
    assert result.verdict.success
    return {f"{e.agent} {e.call}" for e in result.events if e.result is None}


def test_a_team_rescues_over_ros_as_in_one_process(tmp_path: Path) -> None:
    assert read_document(PARAMS) == {"memory": {"ros__parameters": {"visibility": "partnr"}}}
    words = {
        "backend": "rescue",
        "episode": EPISODE,
        "planner": "rescue_rules",
        "params_file": PARAMS,
        "narrate": "true",
        # As fast as possible, a busy machine would let the fires grow between two decisions, and
        # two agents that drop a person off together would not do so in one joint step.
        "paced": "true",
        "pace": "4.0",
        "record": tmp_path / "run",
    }
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", "up", *(f"{k}:={v}" for k, v in words.items())],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "verdict: success  percent_complete: 1.00" in said
    began = re.findall(r"\[task_planner\]: (agent_\d) begins (\S+\[[^\]]*\])", said)
    skills = {f"{agent} {call.partition('[')[0]}" for agent, call in began}
    assert skills == {call.partition("[")[0] for call in in_one_process()}
    (judged,) = judge(tmp_path / "run" / "bag", Request())
    assert judged.verdict.success
