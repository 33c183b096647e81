"""`map:=built` over ROS: a robot explores the house by its camera, then the planner begins."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from bridge_harness import Client, write_world
from nav_msgs.msg import OccupancyGrid
from node_processes import running
from planner_harness import LATCHED, Instructions
from planner_msgs.msg import SkillReport

from planner.app.house_tour import compared
from planner.ros.conversions import map_record
from planner.world.agents import default_bodies
from planner.world.episode import Episode
from planner.world.floor_map import UNKNOWN
from planner.world.house import House
from planner.world.skill import SkillCode
from planner.world.topics import InstructionCode
from planner.world.vocabulary import AgentKind


@pytest.mark.slow
def test_a_planner_begins_once_the_house_is_explored(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    robot, _ = small_episode.agents
    goal = {
        "function_name": "is_on_top",
        "args": {"objects": ["cup_0"], "receptacles": ["table_1"]},
    }
    episode = small_episode.model_copy(
        update={"agents": (robot,), "evaluation": {"propositions": [goal]}}
    )
    path = write_world(tmp_path, small_house, episode)
    with ExitStack() as nodes:
        nodes.enter_context(running("bridge", episode=path, time_mode="fast", idle_time="hold"))
        nodes.enter_context(running("memory", episode=path, map="built"))
        nodes.enter_context(running("skill_executor", episode=path, use_sim_time=True, map="built"))
        nodes.enter_context(running("evaluator", episode=path))
        client = Client()
        nodes.callback(client.close)
        maps = client.listen(OccupancyGrid, "/map", LATCHED)
        reports = client.listen(SkillReport, "/skills/results", 100)
        client.wait(lambda: maps, "the first map", limit=120.0)
        first = map_record(maps[0])
        nodes.enter_context(running("task_planner", episode=path, planner="expert", map="built"))
        result = Instructions(client).follow(agents=["agent_0"])
        assert result.code == InstructionCode.DONE, result.text
    calls = [(report.call, report.code) for report in reports if not report.part_of]
    assert calls[0] == ("ExploreHouse[]", SkillCode.SUCCESS)
    assert calls[1][0].startswith(("Rearrange[", "Navigate["))
    last = map_record(maps[-1])
    assert last.explored_m2 > first.explored_m2
    assert (last.cells == UNKNOWN).any()
    start_m = (*robot.start[:2], 0.0) if robot.start is not None else (0.0, 0.0, 0.0)
    coverage, agreement = compared(
        small_house, last, start_m, default_bodies()[AgentKind.ROBOT].radius_m
    )
    assert coverage >= 0.95
    assert agreement >= 0.9
