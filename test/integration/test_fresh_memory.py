"""Waiting for a memory that begins anew, whatever its clock says once it has its agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bridge_harness import LATCHED, Client
from builtin_interfaces.msg import Time
from planner_msgs.msg import WorldGraph, WorldGraphNode
from std_msgs.msg import Header

from planner.ros.lockstep import FreshMemory


def graph(stamp_s: int, sequence: int, *agents: str, room: str = "kitchen_0") -> WorldGraph:
    nodes = [WorldGraphNode(name=room, kind=WorldGraphNode.KIND_ROOM)]
    nodes += [WorldGraphNode(name=name, kind=WorldGraphNode.KIND_AGENT) for name in agents]
    return WorldGraph(header=Header(stamp=Time(sec=stamp_s)), sequence=sequence, nodes=nodes)


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


@pytest.mark.parametrize(
    "first",
    [graph(1, 9), graph(8, 0), graph(8, 9, room="hall_0")],
    ids=["its clock", "its count", "its house"],
)
def test_it_has_begun_once_it_has_its_agents_again(client: Client, first: WorldGraph) -> None:
    said = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    said.publish(graph(5, 4, "agent_0"))
    memory = FreshMemory(client.node)
    heard = client.executor.create_task(memory.listen)
    client.wait(heard.done, "what is known now")
    waits = client.executor.create_task(memory.begun, 60.0)
    said.publish(graph(6, 5, "agent_0"))
    client.idle(0.3)
    assert not waits.done()
    said.publish(first)
    client.idle(0.3)
    assert not waits.done()
    room = first.nodes[0].name
    said.publish(graph(9, 12, "agent_0", room=room))
    client.wait(waits.done, "that it has begun")
    assert waits.exception() is None
    memory.destroy()
