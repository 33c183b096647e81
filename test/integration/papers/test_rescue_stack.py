"""A whole bring-up in the rescue world: over ROS a team makes the same calls as in one process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from bringup_runs import successful_run

from papers.llamar.rescue.backend import RescueBackend
from papers.llamar.rescue.rules import RescueRules
from planner.app.embedded_run import prepare_run
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.world.files import read_document
from planner.world.house_checks import load_episode
from planner.world.share import config_dir

EPISODE = "rescue-1-agents-2"
PARAMS = config_dir() / "rescue" / "params.yaml"
# Deciding takes no simulated time, in which fires would grow.
LOCKSTEP = {"bridge": {"ros__parameters": {"idle_time": "hold"}}}


def in_one_process() -> list[str]:
    """All calls in their order, as the task planner's log has them."""
    episode, house = load_episode(EPISODE)
    result = prepare_run(RescueBackend(), house, episode, RescueRules).run()
    assert result.verdict.success
    return [f"{e.agent} begins {e.call}" for e in result.events if e.result is None]


@pytest.mark.slow
def test_a_team_rescues_over_ros_as_in_one_process(tmp_path: Path) -> None:
    shipped = {"memory": {"ros__parameters": {"visibility": "partnr"}}}
    assert read_document(PARAMS) == shipped
    params = tmp_path / "params.yaml"
    params.write_text(yaml.safe_dump({**shipped, **LOCKSTEP}), encoding="utf-8")
    said = successful_run(
        backend="rescue",
        episode=EPISODE,
        planner="rescue_rules",
        params_file=params,
        paced="false",
        record=tmp_path / "run",
    )
    began = re.findall(r"\[task_planner\]: (agent_\d begins \S+\[[^\]]*\])", said)
    assert began == in_one_process()
    (judged,) = judge(tmp_path / "run" / "bag", Request())
    assert judged.verdict.success
