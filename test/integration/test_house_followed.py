"""Nodes that are given no house take the bridge's, and follow it into another one."""

from __future__ import annotations

from bridge_harness import LATCHED, Client
from node_processes import Node
from planner_msgs.msg import WorldGraph, WorldGraphNode, WorldInfo

from planner.world.share import config_dir


def test_the_skills_are_those_of_the_house_that_the_bridge_has() -> None:
    client = Client("houses")
    infos = client.node.create_publisher(WorldInfo, "/world/info", LATCHED)
    graphs = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    robot = WorldGraphNode(kind=WorldGraphNode.KIND_AGENT, name="agent_0", class_name="robot")
    graphs.publish(WorldGraph(nodes=[robot]))
    houses = [path.stem for path in sorted((config_dir() / "houses" / "train").glob("*.json"))[:2]]
    assert len(houses) == 2
    skills = Node("skill_executor")
    try:
        for house in houses:
            infos.publish(WorldInfo(layout=house))
            said = f"serves agent_0, a robot, in {house}"
            client.wait(lambda words=said: words in skills.log, said)
    finally:
        skills.kill()
        skills.wait()
        client.close()
