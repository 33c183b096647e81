"""What a robot feels in its hand reaches executor, memory and planner, whatever it reported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge_harness import LATCHED, write_world
from node_processes import running
from planner_msgs.msg import WorldGraph, WorldGraphNode
from skill_harness import Caller

from planner.environment import ros_environment
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCode

PROGRAM = Path(__file__).with_name("mistaken_bridge.py")


@contextmanager
def mistaken_bridge(episode: Path) -> Iterator[None]:
    given = ("-p", f"episode:={episode}", "-p", "rate:=8.0", "-p", "cameras:=hand")
    command = (sys.executable, str(PROGRAM), "--ros-args", *given)
    process = subprocess.Popen(command, env=ros_environment(os.environ))
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def test_a_grasp_that_closed_is_in_the_hand_for_executor_and_memory(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    file = write_world(tmp_path, small_house, small_episode)
    caller = Caller(small_house)
    try:
        with (
            mistaken_bridge(file),
            running("memory", episode=file, use_sim_time="true"),
            running("skill_executor", episode=file, use_sim_time="true"),
        ):
            graphs = caller.listen(WorldGraph, "/world_graph", LATCHED)

            def believed() -> dict[str, WorldGraphNode]:
                return {node.name: node for node in graphs[-1].nodes}

            assert caller.begin("ExploreFurniture[table_0]").result().code == SkillCode.SUCCESS
            caller.wait(lambda: "cup_0" in believed(), "the cup")
            assert caller.begin("Navigate[cup_0]").result().code == SkillCode.SUCCESS
            picked = caller.begin("Pick[cup_0]").result()
            assert (picked.code, list(picked.hands)) == (SkillCode.SUCCESS, ["cup_0"])
            caller.wait(lambda: believed()["agent_0"].holding == "cup_0", "the memory's belief")
            assert caller.begin("Navigate[table_1]").result().code == SkillCode.SUCCESS
            placed = caller.begin("Place[cup_0, on, table_1, None, None]").result()
            assert placed.code == SkillCode.SUCCESS, placed.text
    finally:
        caller.close()
