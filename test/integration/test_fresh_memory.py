"""A memory that begins anew: from when on it tells of its world, and how that is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import LATCHED, Client, bridge
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from memory_harness import Listener
from node_processes import running
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


def test_who_has_seen_nothing_of_a_world_does_not_tell_of_it_at_once(
    client: Client, world: Path
) -> None:
    # The memory looks through the hand's camera, of which no picture comes here.
    with bridge(episode=world, cameras="body"), running("memory", episode=world):
        listener = Listener(client)
        heard = client.listen(DiagnosticArray, "/diagnostics", 100)

        def is_blind() -> bool:
            said = [status.message for message in heard for status in message.status]
            return any("no picture has come yet" in text for text in said)

        client.wait(is_blind, "a memory that says so")
        assert not listener.graphs
        listener.until_known("table_0")
