"""Learned skills over ROS. Bridges of other files would be in their way: this one has its own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from bridge_harness import TIMEOUT_S, bridge, write_world
from made_policy import homing_policy
from skill_harness import Caller, Skills

from planner.command_line import EXIT_CONFIGURATION
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SUCCESS_TEXT, SkillCode


@pytest.mark.slow
def test_a_policy_drives_by_pictures_in_the_place_of_the_worlds_own_walk(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    """Learned skills over ROS: camera pictures in, one `drive` for each act out."""
    episode = write_world(tmp_path, small_house, small_episode)
    policy = homing_policy(tmp_path / "p.safetensors")
    with bridge(episode=episode, rate=1.0):
        node = Skills(
            episode=episode, use_sim_time="true", skill_kind="learned", skill_policy=policy
        )
        caller = Caller(small_house)
        try:
            caller.tell()
            caller.skill()
            before = caller.state().entities["agent_0"].pose.position_m
            goal = caller.begin("Navigate[cup_0]", timeout_s=300.0)
            # Each act needs a picture, which a busy machine draws slowly.
            result = goal.result(limit_s=240.0)
            assert (result.code, result.text) == (SkillCode.SUCCESS, SUCCESS_TEXT)
            after = caller.state().entities["agent_0"].pose.position_m
            assert math.dist(before, after) > 0.2
            evidence = {pair.key: pair.value for pair in result.evidence}
            assert int(evidence["primitives"]) > 2, "it was many drives"
        finally:
            caller.close()
            node.kill()


def test_a_policy_that_cannot_be_used_ends_the_node(tmp_path: Path) -> None:
    node = Skills(skill_kind="learned", skill_policy=tmp_path / "none.safetensors")
    assert node.process.wait(TIMEOUT_S) == EXIT_CONFIGURATION
    (line,) = [line for line in node.process.log.splitlines() if "none.safetensors" in line]
    assert "cannot be read" in line
