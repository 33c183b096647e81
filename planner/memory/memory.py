"""The memory as one object: the same for the node and for runs in process.

Observations and ended skills go in; a belief, numbered changes and the planner's delta lines
come out. Sensors first, then the effects of actions that ended at the same time: actions win
(PARTNR-D39).
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planner.memory.effects import effects, felt
from planner.memory.entity_list import EntityList, Outcome, Provenance
from planner.memory.index import AgentBelief, BeliefBuilder, EntityIndex
from planner.memory.store import HISTORY, Content, Store, StoreError, write_file
from planner.memory.updater import MemoryUpdater, Operation
from planner.memory.wording import delta_lines
from planner.parts.option import Option
from planner.world.belief import Belief, Entity, MemoryChange, OperationKind, Source
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.skill import SkillCall, SkillResult
from planner.world.vocabulary import AgentKind

# Ten steps of the simulator at its 30 Hz (EPM-1.1).
UPDATE_PERIOD_S = 10 / 30
UPDATE_PERIOD = Option(
    "update_period",
    UPDATE_PERIOD_S,
    "least seconds of the world between two looks through a camera",
    min_value=0.01,
    max_value=60.0,
)
# When things were last seen is stored no more often than this; changes at once.
CONFIRM_PERIOD_S = 1.0
CAMERA = "hand"
_log = logging.getLogger(__name__)


class EditError(PlannerError):
    """Edits by hand that were refused, all of them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The entity list after change `sequence`, sorted by id."""

    stamp_s: float
    sequence: int
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Deltas:
    """What changed since some sequence number.

    Attributes:
        sequence: of the newest change.
        complete: whether the memory still has every change since; if not, take the snapshot.
        changes: in order.
    """

    sequence: int
    complete: bool
    changes: tuple[MemoryChange, ...]

    @property
    def lines(self) -> list[str]:
        """The planner's lines, net effect per entity; empty where nothing changed."""
        return delta_lines(self.changes)


class Memory:
    """What the robots remember of one house in one run."""

    def __init__(
        self,
        layout: House,
        updater: MemoryUpdater | None,
        store: Store | None = None,
        *,
        agents: Mapping[str, AgentKind] | None = None,
        episode: str = "",
        period_s: float = UPDATE_PERIOD_S,
        foreign_names: bool = False,
    ) -> None:
        """Starts from the layout's furniture, or goes on where the store ended.

        Args:
            layout: rooms and furniture; its objects are not looked at.
            updater: makes edits of observations; None remembers actions and edits by hand only.
            store: where every change is kept; None keeps it in memory only.
            agents: the kinds of the agents, as told.
            episode: named in the store.
            period_s: least time between two looks through one camera.
            foreign_names: whether agents call things by names that are not the memory's, as a
                partner does where the memory names what it sees itself (PARTNR-5.3).

        Raises:
            StoreError: for a store of another house, or one that cannot be read or written.
        """
        self.layout = layout
        self._updater = updater
        self._store = store
        self._episode = episode or layout.name
        self._period_s = period_s
        self._foreign_names = foreign_names
        self._kinds = {name: kind.value for name, kind in (agents or {}).items()}
        self._list = EntityList(layout)
        self._builder = BeliefBuilder(layout)
        self._history: deque[MemoryChange] = deque(maxlen=HISTORY)
        self._agents: dict[str, AgentBelief] = {}
        self._looked: dict[str, int] = {}
        self._stamp_s = 0.0
        self._last_action: dict[str, str] = {}
        self._unsaved: list[MemoryChange] = []
        self._confirmed: dict[int, Entity] = {}
        self._saved_s = -math.inf
        self._belief: Belief | None = None
        self._index: EntityIndex | None = None
        self._grasps: dict[str, bool] = {}
        self._found: set[int] = set()
        self.fault = ""
        self.refused = 0
        self.refusal = ""
        if store is not None:
            self._take_up(store)

    def _take_up(self, store: Store) -> None:
        content = store.read()
        if content is None:
            store.replace(self.content())
            return
        if content.house != self.layout.name:
            raise StoreError(
                f"{store.path}: belongs to house {content.house}, not to {self.layout.name}"
            )
        self._list.restore(content.entities, content.next_id, content.sequence)
        self._history.extend(content.changes)
        self._stamp_s = content.stamp_s

    # What comes in

    @property
    def period_s(self) -> float:
        """Least time between two looks through one camera."""
        return self._period_s

    def due(self, agent: str, stamp_s: float) -> bool:
        """Whether an agent's camera is to be looked through again at `stamp_s`."""
        return self._slot(stamp_s) != self._looked.get(agent)

    def next_look_s(self, stamp_s: float) -> float:
        """How long after `stamp_s` the next look is due, for an agent that just looked."""
        return (self._slot(stamp_s) + 1) * self._period_s - stamp_s

    def observe(self, observation: Observation) -> MemoryChange | None:
        """Learns from what an agent senses; returns the change, if the list changed."""
        self.note_sensed(observation)
        if self._updater is None:
            return None
        action = self.last_action(observation.agent)
        made = self._updater.update(observation, self._list.entities, action)
        return self.learn(observation, made, self._updater.name)

    def note_sensed(self, observation: Observation) -> None:
        """Learns where the agent is, and that it looked; without what its picture shows."""
        base = observation.base
        self.note_self(
            observation.agent,
            base.position_m,
            observation.stamp_s,
            holds=observation.holding,
            heading_rad=base.yaw_rad,
        )

    def note_self(
        self,
        agent: str,
        base_m: Vec3,
        stamp_s: float,
        *,
        holds: bool,
        heading_rad: float | None = None,
    ) -> None:
        """Learns where an agent is and faces, whether it holds something, and that it looked.

        All there is to learn of a look that shows nothing new.
        """
        self._looked[agent] = self._slot(stamp_s)
        self._advance(stamp_s)
        kind = self._kinds.get(agent, "agent")
        self._put_agent(AgentBelief(agent, kind, base_m, Source.TOLD, stamp_s, heading_rad))
        self._grasps[agent] = holds

    def last_action(self, agent: str) -> str:
        """An agent's newest ended call as EPM's prompt has it; "" before the first."""
        return self._last_action.get(agent, "")

    def learn(
        self, observation: Observation, made: Sequence[Operation], author: str
    ) -> MemoryChange | None:
        """Applies the edits that an updater made of an observation, at once or later.

        What an action or a person changed since the picture was taken stays as it is.
        """
        operations = []
        for operation in made:
            if operation.entity_id is None and operation.kind is OperationKind.UPDATE:
                self._note_seen_agent(operation, observation.stamp_s)
            elif operation.kind is OperationKind.REMOVE and operation.entity_id in self._found:
                continue
            elif not self._is_overtaken(operation, observation.stamp_s):
                operations.append(operation)
        provenance = Provenance(
            stamp_s=observation.stamp_s,
            author=author,
            source=Source.SEEN,
            agent=observation.agent,
            camera=observation.cameras.get(CAMERA),
            taken=self._taken_since(observation.stamp_s, author),
        )
        return self._keep(self._list.apply(operations, provenance))

    def note_result(
        self, agent: str, call: SkillCall, result: SkillResult, ended_s: float
    ) -> MemoryChange | None:
        """Learns from a skill call that ended: what it did, and what the agent holds now."""
        self._last_action[agent] = self._with_numbers(call)
        self._advance(ended_s)
        known = self._agents.get(agent)
        base_m = known.position_m if known is not None else None
        near_m = base_m if self._foreign_names else None
        made = effects(agent, call, result, self._list, self.layout, near_m)
        done = {operation.entity_id for operation in made}
        made += felt(agent, result, self._list, self.layout, base_m, done)
        if not made:
            return None
        provenance = Provenance(ended_s, f"{agent} {call.name}", Source.INFERRED, agent)
        return self._keep(self._list.apply(made, provenance))

    def note_found(
        self, made: Sequence[Operation], author: str, stamp_s: float
    ) -> MemoryChange | None:
        """Applies the edits of a detector that is no updater; they have positions of their own.

        What it finds no updater removes, which may not know such things.
        """
        current = [each for each in made if not self._is_overtaken(each, stamp_s)]
        outcome = self._list.apply(current, Provenance(stamp_s, author, Source.SEEN))
        self._found.update(outcome.ids)
        return self._keep(outcome)

    def edit(self, operations: Sequence[Operation], author: str, stamp_s: float) -> Outcome:
        """Carries out edits by hand: all of them, or none. They are stored when this returns.

        Raises:
            EditError: naming the first operation that is refused, and why; or that they cannot be
                stored where the memory is to be.
        """
        tried = self._list.copy()
        outcome = tried.apply(operations, Provenance(stamp_s, author, Source.TOLD))
        if outcome.refused:
            first = outcome.ids.index(0)
            raise EditError(f"operation {first}: {outcome.refused[0]}")
        before, confirmed = self._list, dict(self._confirmed)
        self._list = tried
        self._keep(outcome)
        if self.fault and outcome.change is not None:
            # Nobody has been told of it yet.
            self._list, self._confirmed = before, confirmed
            self._forget(outcome.change)
            raise EditError(f"nothing was changed, as it cannot be stored: {self.fault}")
        return outcome

    def _slot(self, stamp_s: float) -> int:
        return math.floor(stamp_s / self._period_s + 1e-6)

    def _advance(self, stamp_s: float) -> None:
        self._stamp_s = max(self._stamp_s, stamp_s)
        self._belief = None

    def _is_overtaken(self, operation: Operation, stamp_s: float) -> bool:
        """Whether an action of that time or later says more of the entity than this picture."""
        entity = self._list.get(operation.entity_id or 0)
        return (
            entity is not None and entity.source is not Source.SEEN and stamp_s <= entity.stamp_s
            and not (entity.source is Source.TOLD and entity.is_furniture)
        )  # fmt: skip

    def _taken_since(self, stamp_s: float, author: str) -> tuple[Entity, ...]:
        """What others than the author picked up or removed, where it was."""
        later = [c for c in self._history if c.stamp_s >= stamp_s and c.author != author]
        edits = [edit for change in later for edit in change.edits]
        return tuple(e.entity for e in edits if e.entity.picked or e.kind is OperationKind.REMOVE)

    def _note_seen_agent(self, operation: Operation, stamp_s: float) -> None:
        known = self._agents.get(operation.name or "")
        if operation.name is None or operation.position_m is None:
            return
        if known is not None and known.stamp_s >= stamp_s:
            return
        if operation.facts is not None:
            self._kinds.setdefault(operation.name, operation.facts.class_name)
        kind = self._kinds.get(operation.name, "agent")
        # Another's camera tells where it is, not where it faces.
        heading_rad = known.heading_rad if known is not None else None
        at_m = operation.position_m
        self._put_agent(AgentBelief(operation.name, kind, at_m, Source.SEEN, stamp_s, heading_rad))

    def _put_agent(self, agent: AgentBelief) -> None:
        self._agents[agent.name] = agent

    def _with_numbers(self, call: SkillCall) -> str:
        """The call as EPM's prompt has it: `Pick[Object.149]`."""
        words = []
        for word in call.arguments:
            entity = self._list.find(word) if word is not None else None
            words.append(word if entity is None else f"Object.{entity.entity_id}")
        return str(replace(call, arguments=tuple(words)))

    # Keeping

    def _keep(self, outcome: Outcome) -> MemoryChange | None:
        """Stores an outcome before anybody is told of it."""
        self._belief = None
        if outcome.refused:
            self.refused += len(outcome.refused)
            self.refusal = outcome.refused[-1]
        for entity in outcome.confirmed:
            self._confirmed[entity.entity_id] = entity
            if self._index is not None:
                self._index.put(entity)
        if outcome.change is not None:
            self._advance(outcome.change.stamp_s)
            self._history.append(outcome.change)
            if self._index is not None:
                self._index.apply(outcome.change)
            for edit in outcome.change.edits:
                self._confirmed.pop(edit.entity.entity_id, None)
        if self._store is not None:
            if outcome.change is not None:
                self._unsaved.append(outcome.change)
            stale = abs(self._stamp_s - self._saved_s) >= CONFIRM_PERIOD_S
            if self._unsaved or (self._confirmed and stale):
                self._save(self._store)
        return outcome.change

    def _forget(self, change: MemoryChange) -> None:
        """Drops the newest change, which could not be stored."""
        self._belief = self._index = None
        self._history.remove(change)
        if change in self._unsaved:
            self._unsaved.remove(change)

    def _save(self, store: Store) -> None:
        try:
            store.append(self._unsaved, self._confirmed.values(), self._list.next_id)
        except StoreError as error:
            # The list goes on in memory; what is not stored yet is tried again with the next.
            if not self.fault:
                _log.error("memory is not stored: %s", error)
            self.fault = str(error)
            return
        if self.fault:
            _log.warning("memory is stored again: %s", store.path)
        self.fault = ""
        self._unsaved.clear()
        self._confirmed.clear()
        self._saved_s = self._stamp_s

    def content(self) -> Content:
        """Everything, as a store keeps it."""
        return Content(
            house=self.layout.name,
            episode=self._episode,
            next_id=self._list.next_id,
            sequence=self._list.sequence,
            stamp_s=self._stamp_s,
            entities=tuple(self._list.entities),
            changes=tuple(self._history),
        )

    def load(self, content: Content) -> None:
        """Takes the content of a file in place of everything remembered.

        Sequence numbers go on from the larger of both, so that no number means two things; who
        follows the changes finds a gap and takes the snapshot.

        Raises:
            StoreError: for another house, or where the own store cannot be written; then
                nothing changed.
        """
        if content.house != self.layout.name:
            raise StoreError(
                f"the file belongs to house {content.house}, not to {self.layout.name}"
            )
        sequence = max(content.sequence, self._list.sequence) + 1
        taken = replace(content, episode=self._episode, sequence=sequence, changes=())
        if self._store is not None:
            self._store.replace(taken)
        self._list.restore(taken.entities, max(taken.next_id, self._list.next_id), sequence)
        self._history.clear()
        self._index = None
        self._unsaved.clear()
        self._confirmed.clear()
        self._found.clear()
        self._belief = None

    def save(self, path: Path | None = None) -> Path:
        """Writes everything to a file, or what is left to the own store; returns the file.

        Raises:
            StoreError: where there is no store, or it cannot be written.
        """
        own = self._store.path.resolve() if self._store is not None else None
        if path is not None and path.resolve() != own:
            write_file(path, self.content())
            return path
        if self._store is None:
            raise StoreError("this memory has no store; name a file")
        self._save(self._store)
        if self.fault:
            raise StoreError(self.fault)
        return self._store.path

    def close(self) -> None:
        """Stores what is left and closes the store."""
        if self._store is not None:
            if self._unsaved or self._confirmed:
                self._save(self._store)
            self._store.close()

    # What goes out

    @property
    def sequence(self) -> int:
        """Of the newest change."""
        return self._list.sequence

    @property
    def stamp_s(self) -> float:
        """Of the newest thing that was learned from."""
        return self._stamp_s

    def belief(self, now_s: float) -> Belief:
        """The snapshot that planners and skills read."""
        known = self._belief
        if known is None:
            known = self._builder.belief(
                self._list.entities, self._agents.values(), self.sequence, now_s
            )
            self._belief = known
        return known if known.stamp_s == now_s else Belief(now_s, known.sequence, known.nodes)

    def entity(self, entity_id: int) -> Entity | None:
        """The entity of a number."""
        return self._list.get(entity_id)

    @property
    def agents(self) -> Collection[AgentBelief]:
        """Where agents are, as far as it is known."""
        return self._agents.values()

    @property
    def entities(self) -> Sequence[Entity]:
        """The entity list, sorted by id."""
        return self._list.entities

    def snapshot(self) -> Snapshot:
        """The entity list."""
        return Snapshot(self._stamp_s, self.sequence, tuple(self._list.entities))

    def deltas_since(self, sequence: int) -> Deltas:
        """The changes after `sequence`; see `Deltas`."""
        changes = tuple(c for c in self._history if c.sequence > sequence)
        complete = sequence <= self.sequence and len(changes) == self.sequence - sequence
        return Deltas(self.sequence, complete, changes)

    def changed_since(self, stamp_s: float) -> Deltas:
        """The changes after a time of the world's clock; see `Deltas`."""
        kept = self._history
        changes = tuple(c for c in kept if c.stamp_s > stamp_s)
        complete = self.sequence == 0 or bool(
            kept and (kept[0].sequence == 1 or kept[0].stamp_s <= stamp_s)
        )
        return Deltas(self.sequence, complete, changes)

    @property
    def index(self) -> EntityIndex:
        """The entities by their words; made at the first question, then kept up to date."""
        if self._index is None:
            self._index = EntityIndex(self._list.entities)
        return self._index

    def disagreements(self) -> list[str]:
        """Agents whose hand and memory differ: a cheap sign of a wrong belief (EPM-9)."""
        found = []
        for agent, grasps in self._grasps.items():
            held = [e.name for e in self._list.entities if e.picked and e.parent == agent]
            if grasps and not held:
                found.append(f"{agent} holds something that the memory does not know")
            elif held and not grasps:
                found.append(f"{agent}'s hand is empty; the memory thinks it holds {held[0]}")
        return found
