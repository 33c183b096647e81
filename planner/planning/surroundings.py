"""What came in over ROS, whatever the session; everything here runs in the planner's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from planner.planning.delta_log import DeltaLog
from planner.world.agents import capabilities_of
from planner.world.belief import Belief
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.vocabulary import EntityKind
from planner.world.wire import graph_record

NOTHING = Belief(0.0, -1, {})


class Surroundings:
    """Belief, changes of the memory and house, as they came."""

    def __init__(self) -> None:
        self._graph: Any = None
        self._belief: Belief | None = NOTHING
        self._listeners: list[asyncio.Future[None]] = []
        self._house: House | None = None
        self.log = DeltaLog()

    # What comes in

    def take_graph(self, graph: Any) -> None:
        """A planner_msgs/WorldGraph; read only when somebody asks."""
        self._graph, self._belief = graph, None
        self.ring()

    def ring(self) -> None:
        """Wakes those who wait for news."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            if not listener.done():
                listener.set_result(None)

    def enter(self, house: House | None) -> None:
        """Another house."""
        self._house = house
        self.ring()

    @property
    def ready(self) -> bool:
        """Whether there is a house, and a memory that told of it and of an agent."""
        return self._house is not None and bool(self.agents)

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that the memory knows, by name."""
        return tuple(sorted(node.name for node in self.belief.of_kind(EntityKind.AGENT)))

    # What is known

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
            RuntimeError: before one was entered.
        """
        if self._house is None:
            raise RuntimeError("a session began before a house was known")
        return self._house

    def capabilities(self) -> Mapping[str, Capabilities]:
        """What each agent can do by its kind; one of an unknown kind can do nothing."""
        found = {}
        for node in self.belief.of_kind(EntityKind.AGENT):
            able = capabilities_of(node.class_name)
            if able is not None:
                found[node.name] = able
        return found

    def deltas(self, since: int) -> Sequence[str]:
        """The memory's lines since a number up to the belief's."""
        return self.log.lines(since, self.belief.sequence)

    async def news(self) -> None:
        """Returns when something came in."""
        listener: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listeners.append(listener)
        await listener
