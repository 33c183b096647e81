"""Ground truth at one time, and as keyframes with changes in between, as on /world/state."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planner.world.catalogue import default_catalogue
from planner.world.geometry import Box, Pose, Vec3, record
from planner.world.house import Room
from planner.world.person import Person
from planner.world.shapes import UNKNOWN_LOOK, Look
from planner.world.vocabulary import EntityKind, Hands, Relation, first_held


@record
class EntityState:
    """One entity.

    Attributes:
        instance_id: the value in instance images; 0 for rooms.
        pose: of the entity's frame in `map`: middle of the underside, z up.
        size_m: full extent along the entity's own axes.
        parent: what it is on, within or held by; a furniture's room; None for a room.
        relation: None for rooms, furniture and agents.
        room: None outside every room.
        states: only those that the entity's affordances give it.
        openness: 0 closed to 1 open; None if nothing opens.
        hands: what each hand of an agent holds.
        look: of furniture and objects.
        person: of an object of the class `person`.
    """

    name: str
    kind: EntityKind
    class_name: str
    instance_id: int
    pose: Pose
    size_m: Vec3
    parent: str | None
    relation: Relation | None
    room: str | None
    affordances: tuple[str, ...] = ()
    states: Mapping[str, bool] | None = None
    openness: float | None = None
    hands: Hands = ()
    look: Look = UNKNOWN_LOOK
    person: Person | None = None

    @property
    def holding(self) -> str | None:
        """What the first full hand of an agent holds."""
        return first_held(self.hands)

    @property
    def box(self) -> Box:
        """The axis-aligned box around the entity in `map`."""
        x, y, z = self.pose.position_m
        return Box.around((x, y, z + self.size_m[2] / 2), self.size_m, self.pose.yaw_rad)


def room_state(room: Room) -> EntityState:
    """A room with the box around its floor."""
    x0, y0, x1, y1 = room.shape.bounds
    return EntityState(
        name=room.name,
        kind=EntityKind.ROOM,
        class_name=room.class_name,
        instance_id=0,
        pose=Pose.planar((x0 + x1) / 2, (y0 + y1) / 2),
        size_m=(x1 - x0, y1 - y0, room.height_m),
        parent=None,
        relation=None,
        room=room.name,
    )


def chain_of(entities: Mapping[str, EntityState], name: str) -> Iterator[EntityState]:
    """A thing, the thing that it is on or in, and so on, until a parent that is not a thing.

    In a cycle, which only a broken message can have, each entity occurs once.
    """
    seen: set[str] = set()
    entity = entities.get(name)
    while entity is not None and entity.kind is EntityKind.OBJECT and entity.name not in seen:
        seen.add(entity.name)
        yield entity
        entity = entities.get(entity.parent or "")


@record
class WorldState:
    """The whole world at `stamp_s`; `revision` increases with every change except of time."""

    stamp_s: float
    step: int
    revision: int
    house: str
    episode_id: str
    entities: Mapping[str, EntityState]


# World states as keyframes and changes in between, as on /world/state.

# Maximum time, on the world's clock, between two keyframes while the world changes.
KEYFRAME_PERIOD_S = 1.0


@record
class StateUpdate:
    """One message of /world/state.

    Attributes:
        state: its `entities` are all those of a keyframe, or else those that are new or differ
            from the state with the previous number.
        removed: names of entities that are gone; empty in a keyframe.
        keyframe: whether it is the whole world.
        sequence: number of the state; None in older bags, where every message is a keyframe.
    """

    state: WorldState
    removed: tuple[str, ...] = ()
    keyframe: bool = True
    sequence: int | None = None


class UpdateEncoder:
    """Turns states into updates: a keyframe first and then every `KEYFRAME_PERIOD_S`."""

    def __init__(self) -> None:
        self._sequence = 0
        self._last: WorldState | None = None
        self._keyframe_s = -math.inf

    def encode(self, state: WorldState, *, keyframe: bool = False) -> StateUpdate:
        """The update from the last state to this one.

        Args:
            state: the next one.
            keyframe: whether to send the whole state, as for a world that was just loaded.
        """
        last, self._last = self._last, state
        self._sequence += 1
        is_due = state.stamp_s - self._keyframe_s >= KEYFRAME_PERIOD_S
        if last is None or keyframe or is_due or _begins_anew(last, state):
            return self._keyframe(state)
        changed, removed = difference(last.entities, state.entities)
        return StateUpdate(replace(state, entities=changed), removed, False, self._sequence)

    def repeat(self) -> StateUpdate | None:
        """The newest state again, as a keyframe with the same number; None before any."""
        return None if self._last is None else self._keyframe(self._last)

    def _keyframe(self, state: WorldState) -> StateUpdate:
        self._keyframe_s = state.stamp_s
        return StateUpdate(state, sequence=self._sequence)


class UpdateDecoder:
    """Reconstructs states from updates.

    Unchanged entities are the same objects from one state to the next.

    Attributes:
        changed: names of entities that are new, gone or different from the previous state; None
            for the first state and if house or episode has changed.
        missed: number of states missing between the newest state and the previous one.
        waiting: whether an update could not be applied, so that the current state is unknown until
            the next keyframe.
    """

    def __init__(self) -> None:
        self._last: WorldState | None = None
        self._sequence: int | None = None
        self.changed: tuple[str, ...] | None = None
        self.missed = 0
        self.waiting = False

    def decode(self, update: StateUpdate) -> WorldState | None:
        """The state after an update.

        Returns:
            None if there is no new state: for a change whose base was missed (`waiting`), and for
            a keyframe that repeats the newest state.
        """
        if not update.keyframe:
            return self._apply(update)
        repeats = not self.waiting and update.sequence is not None
        if repeats and update.sequence == self._sequence and update.state == self._last:
            return None
        return self._take_whole(update)

    def _apply(self, update: StateUpdate) -> WorldState | None:
        last, state = self._last, update.state
        if last is None or self.waiting or not self._is_next(update, last):
            self.waiting = True
            return None
        entities = {n: e for n, e in last.entities.items() if n not in update.removed}
        entities.update(state.entities)
        return self._keep(
            update, replace(state, entities=entities), (*state.entities, *update.removed)
        )

    def _take_whole(self, update: StateUpdate) -> WorldState:
        last, state = self._last, update.state
        known = last.entities if last is not None else {}
        entities = {
            name: known[name] if known.get(name) == entity else entity
            for name, entity in state.entities.items()
        }
        changed = None
        if last is not None and _world(last) == _world(state):
            new, removed = difference(known, entities)
            changed = (*new, *removed)
        return self._keep(update, replace(state, entities=entities), changed)

    def _keep(
        self, update: StateUpdate, state: WorldState, changed: tuple[str, ...] | None
    ) -> WorldState:
        before, now = self._sequence, update.sequence
        self.missed = 0 if before is None or now is None else max(0, now - before - 1)
        self._last, self._sequence, self.changed = state, now, changed
        self.waiting = False
        return state

    def _is_next(self, update: StateUpdate, last: WorldState) -> bool:
        if self._sequence is None or update.sequence != self._sequence + 1:
            return False
        # A restarted bridge counts from 1 again.
        return not _begins_anew(last, update.state)


def vanished(
    before: Mapping[str, EntityState], after: Mapping[str, EntityState], removed: Iterable[str]
) -> list[str]:
    """Those of `removed` that are gone for no known reason: what is sliced becomes its slices."""
    made = {entity.class_name for name, entity in after.items() if name not in before}
    found = []
    for name in removed:
        gone = before.get(name)
        cls = default_catalogue().objects.get(gone.class_name) if gone is not None else None
        if cls is None or cls.slices is None or cls.slices.class_name not in made:
            found.append(name)
    return found


def difference(
    before: Mapping[str, EntityState], after: Mapping[str, EntityState]
) -> tuple[dict[str, EntityState], tuple[str, ...]]:
    """The entities that are new or differ, and the names of those that are gone."""
    changed = {
        name: entity
        for name, entity in after.items()
        if (old := before.get(name)) is not entity and old != entity
    }
    return changed, tuple(name for name in before if name not in after)


def _begins_anew(last: WorldState, state: WorldState) -> bool:
    return _world(last) != _world(state) or state.step < last.step


def _world(state: WorldState) -> tuple[str, str]:
    return state.house, state.episode_id
