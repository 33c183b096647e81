"""LLaMAR's actions in a graph's world, where every backend has the same primitives."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from graph_kitchen import task, written
from skill_world import DT_S, belief_of

from planner.app.in_process_world import BackendPort
from planner.skills.executor import SkillExecutor
from planner.world.belief import Belief
from planner.world.geometry import Pose
from planner.world.house_checks import load_house
from planner.world.skill import SkillCode, SkillResult
from sim_bridge.graph.backend import GraphBackend


class GraphRobot:
    """One robot, and a belief that is the truth."""

    def __init__(self, folder: Path) -> None:
        self.house = load_house(written(folder))
        self.backend = GraphBackend()
        self.backend.reset(self.house, task(self.house), 0)
        port = BackendPort(self.backend, "agent_0")
        self.executor = SkillExecutor(self.house.layout, port, self.belief)

    def belief(self) -> Belief:
        state = self.backend.world_state()
        assert state is not None
        return belief_of(self.house, state)

    def pose(self) -> Pose:
        return self.backend.observe("agent_0", ()).base

    def run(self, call: str) -> SkillResult:
        result = self.executor.start(call)
        for _ in range(20_000):
            if result is not None:
                return result
            self.backend.step(DT_S)
            result = self.executor.step()
        raise AssertionError(f"{call} never ended")


@pytest.fixture
def robot(tmp_path: Path) -> GraphRobot:
    return GraphRobot(tmp_path)


def test_a_thing_is_fetched_by_the_papers_actions(robot: GraphRobot) -> None:
    names = {node.class_name: node.name for node in robot.belief().nodes.values()}
    apple, fridge = names["apple"], names["fridge"]
    assert robot.run(f"PickupObject[{apple}]").code is SkillCode.TOO_FAR
    assert robot.run(f"NavigateTo[{fridge}]").succeeded
    assert robot.run(f"OpenObject[{fridge}]").succeeded
    assert robot.run(f"OpenObject[{fridge}]").code is SkillCode.NEED_UNMET
    assert robot.run(f"NavigateTo[{apple}]").succeeded
    assert robot.run(f"PickupObject[{apple}]").succeeded
    assert robot.run(f"NavigateTo[{fridge}]").succeeded
    put = robot.run(f"PutObject[{apple}, within, {fridge}, None, None]")
    assert put.succeeded, put
    assert robot.belief().nodes[apple].parent == fridge


def test_the_body_is_moved_step_by_step(robot: GraphRobot) -> None:
    """LLAMAR-C25."""
    start = robot.pose()
    assert robot.run("Move[Ahead]").succeeded
    ahead = robot.pose()
    assert math.dist(ahead.position_m, start.position_m) == pytest.approx(0.25, abs=1e-6)
    assert robot.run("Rotate[Right]").succeeded
    assert robot.run("Rotate[Right]").succeeded
    turned = math.remainder(robot.pose().yaw_rad - start.yaw_rad, math.tau)
    assert abs(turned) == pytest.approx(math.pi, abs=1e-6)
    assert robot.run("LookUp[30]").succeeded
    explored = robot.run("ExploreByView[find the apple]")
    assert explored.code in (SkillCode.SUCCESS, SkillCode.BLOCKED)
    assert len(explored.evidence["headings"].split()) == 3
