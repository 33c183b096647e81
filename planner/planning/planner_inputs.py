"""What a planner receives: the memory's changes over ROS or from a log, or a full view."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.memory.wording import delta_lines, describe
from planner.world.agents import capabilities_of_agents
from planner.world.belief import (
    FIRST_ID,
    Belief,
    BeliefNode,
    Edit,
    Entity,
    MemoryChange,
    OperationKind,
    Source,
)
from planner.world.house import House
from planner.world.memory_wire import change_record, entity_record, stamp_seconds
from planner.world.primitive import Capabilities
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
from planner.world.wire import graph_record

# The memory's changes as a planner reads them, with gaps repaired from snapshots.

# Changes kept for dialogues that have not been updated for a long time.
MAX_CHANGES = 4096
REPAIRED = "repaired"


class DeltaLog:
    """Numbered changes since the first snapshot.

    A missing number means lost changes: further ones are ignored until a snapshot arrives, whose
    difference to the last known list then replaces the lost changes.
    """

    def __init__(self) -> None:
        self._entities: dict[int, Entity] = {}
        self._changes: deque[MemoryChange] = deque(maxlen=MAX_CHANGES)
        self._sequence: int | None = None
        self.gaps = 0

    @property
    def sequence(self) -> int:
        """The newest known number."""
        return self._sequence or 0

    @property
    def newest(self) -> int:
        """The number of the newest change whose lines are here, also in a broken log; 0 = none."""
        return self._changes[-1].sequence if self._changes else 0

    @property
    def broken(self) -> bool:
        """Whether a snapshot is needed."""
        return self._sequence is None

    def change(self, change: MemoryChange) -> None:
        """Adds the next change; an old one is ignored, a gap breaks the log."""
        if self._sequence is None or change.sequence <= self._sequence:
            return
        if change.sequence != self._sequence + 1:
            self.gaps += 1
            self._sequence = None
            return
        self._take(change)

    def snapshot(self, stamp_s: float, sequence: int, entities: Iterable[Entity]) -> None:
        """Sets the whole list if the log is empty or broken, or the memory has restarted."""
        if not self.broken:
            # A restarted memory counts from zero again.
            if sequence >= self.sequence:
                return
            self.forget()
        elif sequence < self.newest:
            return
        edits = tuple(self._difference({e.entity_id: e for e in entities}))
        self._take(MemoryChange(sequence, stamp_s, REPAIRED, edits))

    def give_up(self) -> None:
        """The next change is not waited for any longer: a snapshot is needed."""
        self._sequence = None

    def forget(self) -> None:
        """Discards everything, for another world."""
        self._entities.clear()
        self._changes.clear()
        self._sequence = None

    def lines(self, since: int, until: int) -> Sequence[str]:
        """The text of the changes after `since` up to `until`, net effect per entity."""
        return delta_lines(c for c in self._changes if since < c.sequence <= until)

    def _take(self, change: MemoryChange) -> None:
        for edit in change.edits:
            if edit.kind is OperationKind.REMOVE:
                self._entities.pop(edit.entity.entity_id, None)
            else:
                self._entities[edit.entity.entity_id] = edit.entity
        self._changes.append(change)
        self._sequence = change.sequence

    def _difference(self, now: dict[int, Entity]) -> Iterable[Edit]:
        for number, entity in now.items():
            before = self._entities.get(number)
            if before is None:
                yield Edit(OperationKind.ADD, entity)
            elif (before.description, before.picked) != (entity.description, entity.picked):
                yield Edit(OperationKind.UPDATE, entity)
        for number, entity in self._entities.items():
            if number not in now:
                yield Edit(OperationKind.REMOVE, entity)


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
        # Number of the newest graph, and whether a memory began anew before its world was told of.
        self._sequence = -1
        self._began_early = False
        self._knows_world = False
        self.log = DeltaLog()
        # The newest list of entities, a planner_msgs/EntityList.
        self._list: Any = None

    # Inputs

    def set_graph(self, graph: Any) -> None:
        """Sets a planner_msgs/WorldGraph, converted only when the belief is read."""
        self._graph, self._belief = graph, None
        # A memory that begins anew counts from zero, and may still have the time of before.
        begins = int(graph.sequence) < self._sequence
        self._sequence = int(graph.sequence)
        if self._past_s is None:
            self._began_early |= begins
        elif begins or stamp_seconds(graph.header.stamp) < self._past_s:
            self._past_s = None
        self.notify()

    def update(self, message: Any) -> None:
        """Takes a planner_msgs/MemoryUpdate.

        It wakes the waiters only if the graph came first: each time that they wake is a decision.
        """
        is_late = self.lacks_changes
        self.log.change(change_record(message))
        if is_late:
            self._renumber()

    def mend(self, message: Any) -> None:
        """Takes a planner_msgs/EntityList where updates have been missed."""
        sequence, self._list, is_late = int(message.sequence), message, self.lacks_changes
        if self.log.broken or sequence < self.log.sequence:
            entities = [entity_record(entity) for entity in message.entities]
            self.log.snapshot(stamp_seconds(message.header.stamp), sequence, entities)
            if is_late:
                self._renumber()

    def make_up(self) -> None:
        """Takes the newest list for changes that should have come long ago."""
        newer = self._list is not None and int(self._list.sequence) > self.log.newest
        if newer and self.lacks_changes:
            self.log.give_up()
            self.mend(self._list)

    def _renumber(self) -> None:
        self._belief = None
        self.notify()

    def begin_world(self, loaded_s: float) -> None:
        """A world was loaded: what was believed of one before it tells nothing.

        The first news tells a node that starts late of the world that runs, and may come after
        the memory's graph of it.

        Args:
            loaded_s: when, on the world's clock, which begins anew.
        """
        is_old = self.belief.stamp_s > loaded_s + _OLDEST_S and not self._began_early
        if self._knows_world and is_old:
            self._past_s = self.belief.stamp_s
        self._knows_world = True
        self._began_early = False

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
        """The newest belief, with the number of the newest change whose lines are here.

        Graphs and changes come over topics of their own. Lines that come after the graph would
        never be read if a planner asked from the graph's number on.
        """
        if self._belief is None:
            belief = graph_record(self._graph)
            late = self.lacks_changes
            self._belief = replace(belief, sequence=self.log.newest) if late else belief
        return self._belief

    @property
    def lacks_changes(self) -> bool:
        """Whether the newest graph has changes whose lines have not come."""
        return 0 < self.log.newest < self._sequence

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


# Full observability (PARTNR-5.2): a belief equal to ground truth, for privileged planners.


def full_belief(state: WorldState) -> Belief:
    """A belief with every entity as it is, numbered in the order of names."""
    nodes: dict[str, BeliefNode] = {}
    number = FIRST_ID
    order = {EntityKind.ROOM: 0, EntityKind.FURNITURE: 1, EntityKind.OBJECT: 2, EntityKind.AGENT: 3}
    for entity in sorted(state.entities.values(), key=lambda e: (order[e.kind], e.name)):
        numbered = entity.kind is EntityKind.OBJECT or (
            entity.kind is EntityKind.FURNITURE and entity.class_name != "floor"
        )
        x, y, z = entity.pose.position_m
        nodes[entity.name] = BeliefNode(
            name=entity.name,
            kind=entity.kind,
            class_name=entity.class_name,
            entity_id=number if numbered else None,
            position_m=(x, y, z + entity.size_m[2] / 2),
            size_m=entity.size_m,
            room=entity.name if entity.kind is EntityKind.ROOM else entity.room,
            parent=entity.parent,
            relation=entity.relation,
            affordances=entity.affordances,
            states=entity.states or {},
            openness=entity.openness,
            hands=entity.hands,
            source=Source.TOLD,
            stamp_s=state.stamp_s,
            description=describe(entity.class_name, entity.states) if numbered else "",
            look=entity.look,
            person=entity.person and replace(entity.person, done=()),
            heading_rad=entity.pose.yaw_rad if entity.kind is EntityKind.AGENT else None,
        )
        number += int(numbered)
    return Belief(state.stamp_s, state.revision, nodes)


# Waits until a world in lockstep hears its planner.

# A planner that has just started may not be connected to the world yet.
MAX_WAIT_S = 3.0
PERIOD_S = 0.02
# As the bridge says them in WorldInfo: such a world waits for planners.
LOCKSTEP_TIME = ("fast", "hold")


async def is_soon(is_in_step: Callable[[], bool], max_wait_s: float = MAX_WAIT_S) -> bool:
    """Whether it holds within a time, wall seconds.

    A world in lockstep would not wait for the calls of agents of which it has not heard.
    """
    for _ in range(round(max_wait_s / PERIOD_S)):
        if is_in_step():
            return True
        await asyncio.sleep(PERIOD_S)
    return is_in_step()
