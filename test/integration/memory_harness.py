"""The memory node in its own process, and what it tells."""

from __future__ import annotations

from typing import Any

from bridge_harness import LATCHED, Client
from diagnostic_msgs.msg import DiagnosticArray
from planner_msgs.msg import EntityList, MemoryUpdate, Operation, WorldGraph
from planner_msgs.srv import EditMemory
from rclpy.qos import QoSProfile

from planner.world.belief import Belief
from planner.world.wire import graph_record

EVENTS = QoSProfile(depth=100)


class Listener:
    """Follows what the memory publishes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.updates = client.listen(MemoryUpdate, "/memory/updates", EVENTS)
        self.lists = client.listen(EntityList, "/memory/entities", LATCHED)
        self.graphs = client.listen(WorldGraph, "/world_graph", LATCHED)

    def belief(self) -> Belief:
        self.client.wait(lambda: self.graphs, "/world_graph")
        return graph_record(self.graphs[-1])

    def until_known(self, name: str) -> Belief:
        self.client.wait(lambda: self.graphs and name in self.belief().nodes, name)
        return self.belief()


def edit(client: Client, *operations: Operation) -> Any:
    return client.call(EditMemory, "/memory/edit", source="test", operations=list(operations))


def counts(client: Client, statuses: list[DiagnosticArray]) -> dict[str, str]:
    """The newest values of the memory's diagnostics."""
    client.wait(lambda: statuses, "/diagnostics")
    found = [s for m in statuses for s in m.status if s.name == "memory: entities"]
    return {value.key: value.value for value in found[-1].values} if found else {}
