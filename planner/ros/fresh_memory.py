"""Waiting until a memory has begun anew, after the world was put back to its beginning."""

from __future__ import annotations

import time

from planner_msgs.msg import WorldGraph, WorldGraphNode
from rclpy.node import Node

from planner.ros import qos
from planner.ros.checked_subscription import listen
from planner.ros.pause import pause
from planner.world import topics
from planner.world.errors import PlannerError
from planner.world.memory_wire import stamp_seconds

_POLL_S = 0.05
# Wall seconds that the graph of a memory which is there takes to arrive.
_LATCHED_S = 1.0


class FreshMemory:
    """Hears what the memory knew before the restart, and when it knows its agents again."""

    def __init__(self, node: Node) -> None:
        """Subscribes; `destroy` it afterwards."""
        self._node = node
        self._newest: WorldGraph | None = None
        self._before: WorldGraph | None = None
        # Whether one has come since that begins anew: by the time that it has its agents, its clock
        # may be later than that of before again.
        self._has_begun = False
        self._subscription = listen(node, WorldGraph, topics.WORLD_GRAPH, self._take, qos.LATCHED)

    def destroy(self) -> None:
        """Removes the subscription."""
        self._node.destroy_subscription(self._subscription)

    async def listen(self) -> None:
        """Waits for what the memory knows now; call it before the restart."""
        until_s = time.monotonic() + _LATCHED_S
        while self._newest is None and time.monotonic() < until_s:
            await pause(self._node, _POLL_S)
        self._before = self._newest

    async def begun(self, wait_s: float) -> None:
        """Waits for a memory that began after `listen`, with the agents of then.

        Without a memory there is nothing to wait for.

        Raises:
            PlannerError: after `wait_s` wall seconds.
        """
        until_s = time.monotonic() + wait_s
        while self._before is not None and not self._is_new(self._before):
            if time.monotonic() > until_s:
                raise PlannerError(f"the memory did not begin anew within {wait_s:g} s")
            await pause(self._node, _POLL_S)

    def _take(self, message: WorldGraph) -> None:
        self._newest = message
        if self._before is not None and _begins_anew(self._before, message):
            self._has_begun = True

    def _is_new(self, before: WorldGraph) -> bool:
        now = self._newest
        return self._has_begun and now is not None and _agents(before) <= _agents(now)


def _begins_anew(before: WorldGraph, now: WorldGraph) -> bool:
    """Whether a graph is of another house, or of a memory whose clock or count went back."""
    went_back = stamp_seconds(now.header.stamp) < stamp_seconds(before.header.stamp)
    return went_back or now.sequence < before.sequence or _rooms(before) != _rooms(now)


def _rooms(graph: WorldGraph) -> set[str]:
    return {str(node.name) for node in graph.nodes if node.kind == WorldGraphNode.KIND_ROOM}


def _agents(graph: WorldGraph) -> set[str]:
    return {str(node.name) for node in graph.nodes if node.kind == WorldGraphNode.KIND_AGENT}
