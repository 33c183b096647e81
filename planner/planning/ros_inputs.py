"""What the planner receives over ROS; runs in the planner's event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.planning.delta_log import DeltaLog
from planner.world.agents import capabilities_of_agents
from planner.world.belief import Belief
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.primitive import Capabilities
from planner.world.vocabulary import EntityKind
from planner.world.wire import graph_record

NOTHING = Belief(0.0, -1, {})
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6
# A memory's graph may come before the message that its world was loaded, and be so much older.
_OLDEST_S = 5.0


class RosInputs:
    """The newest belief, the memory's changes and the house."""

    def __init__(self, has_lockstep: Callable[[], bool] = lambda: False) -> None:
        """Takes whether the world reports which agents are settled."""
        self._has_lockstep = has_lockstep
        self._settled_s: dict[str, float] = {}
        self._graph: Any = None
        self._belief: Belief | None = NOTHING
        self._listeners: list[asyncio.Future[None]] = []
        self._house: House | None = None
        # Stamp of what a memory said of the world before, until it has said something of this one.
        self._past_s: float | None = None
        self.log = DeltaLog()

    # Inputs

    def set_graph(self, graph: Any) -> None:
        """Sets a planner_msgs/WorldGraph, converted only when the belief is read."""
        self._graph, self._belief = graph, None
        if self._past_s is not None and stamp_seconds(graph.header.stamp) < self._past_s:
            self._past_s = None
        self.notify()

    def begin_world(self, loaded_s: float) -> None:
        """A world was loaded: what was believed of one before it tells nothing.

        Args:
            loaded_s: when, on the world's clock, which begins anew.
        """
        if self.belief.stamp_s > loaded_s + _OLDEST_S:
            self._past_s = self.belief.stamp_s

    def settle(self, agent: str, stamp_s: float) -> None:
        """The world: all calls of an agent that end by then have ended."""
        self._settled_s[agent] = stamp_s
        self.notify()

    def unsettle(self, agent: str) -> None:
        """An agent starts a call, which may end at once."""
        self._settled_s.pop(agent, None)

    def notify(self) -> None:
        """Wakes the waiters."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            if not listener.done():
                listener.set_result(None)

    def set_house(self, house: House | None) -> None:
        """Sets the house."""
        self._house = house
        self.notify()

    @property
    def ready(self) -> bool:
        """Whether the house is known, and at least one agent in the world of now."""
        return self._house is not None and bool(self.agents) and self._past_s is None

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that the memory knows, by name."""
        return tuple(sorted(node.name for node in self.belief.of_kind(EntityKind.AGENT)))

    # State

    def is_settled(self, agent: str, stamp_s: float) -> bool:
        """Whether no running call of an agent ended by then; True without lockstep."""
        if not self._has_lockstep():
            return True
        return self._settled_s.get(agent, -math.inf) >= stamp_s - _EQUAL_S

    @property
    def belief(self) -> Belief:
        """The newest belief."""
        if self._belief is None:
            self._belief = graph_record(self._graph)
        return self._belief

    @property
    def layout(self) -> House:
        """The house without its things.

        Raises:
            RuntimeError: before the house is known.
        """
        if self._house is None:
            raise RuntimeError("a session began before a house was known")
        return self._house

    def capabilities(self) -> Mapping[str, Capabilities]:
        """What each agent can do by its kind; agents of unknown kinds are left out."""
        return capabilities_of_agents(self.belief)

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""
        return self.log.lines(since, self.belief.sequence)

    async def changed(self) -> None:
        """Waits for the next input."""
        listener: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listeners.append(listener)
        await listener
