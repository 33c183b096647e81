"""Which entities a frame could tell something new about.

Updated incrementally, since little changes from one moment to the next.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from planner.memory.entity_list import OPENNESS_TOLERANCE
from planner.world.entity import Entity
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

# An entity this near its stored position has not moved: if it is not seen, something hides it.
MAX_DISPLACEMENT_M: Final = 0.3


class StaleEntities:
    """Entities whose true state differs from what was last reported to the memory.

    Attributes:
        names: entities that the memory would learn about in a frame that shows them.
        misplaced: entities away from their stored position, which a frame may show to be empty.
    """

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.misplaced: set[str] = set()
        self._open: dict[str, None] = {}
        self._truths: dict[str, EntityState] = {}
        self._entities: Sequence[Entity] = ()
        self._known: dict[str, Entity] = {}
        self._reported: dict[str, EntityState] = {}
        self._stale: set[str] = set()
        self._revision = -1

    def mark_reported(self, names: Iterable[str], truths: Mapping[str, EntityState]) -> None:
        """Records that the memory was given the current state of these."""
        for name in names:
            self._reported[name] = truths[name]
            self._stale.add(name)

    def is_up_to_date(self, revision: int, entities: Sequence[Entity]) -> bool:
        """Whether nothing but agents and what they carry has changed since `follow`."""
        return (
            revision == self._revision and not self._stale and not _differ(self._entities, entities)
        )

    def follow(self, state: WorldState, entities: Sequence[Entity], revision: int = -1) -> None:
        """Compares the current world and memory."""
        self._revision = revision
        stale = self._stale
        truths = state.entities
        if _differ(self._entities, entities):
            known = {entity.name: entity for entity in entities}
            before = map(self._known.get, known)
            stale.update(itertools.compress(known, map(operator.is_not, known.values(), before)))
            stale.update(self._known.keys() - known.keys())
            self._known, self._entities = known, entities
        if len(truths) != len(self._truths):
            stale.update(truths)
        else:
            pairs = map(operator.is_not, truths.values(), self._truths.values())
            stale.update(itertools.compress(truths, pairs))
        self._truths = dict(truths)
        changed = False
        for name in stale:
            was = name in self._open
            self._classify(name, truths.get(name))
            changed |= was is not (name in self._open)
        stale.clear()
        if changed:
            self.names = tuple(self._open)

    def _classify(self, name: str, truth: EntityState | None) -> None:
        self._open.pop(name, None)
        self.misplaced.discard(name)
        # Differences that an action's effect left in the memory can wait until the next full look.
        if (
            truth is None
            or truth.kind is EntityKind.AGENT
            or _is_unchanged(self._reported.get(name), truth)
        ):
            return
        entity = self._known.get(name)
        if entity is None:
            if truth.kind is EntityKind.OBJECT:
                self._open[name] = None
        elif entity.picked:
            if truth.relation is not Relation.HELD or truth.parent != entity.parent:
                self._open[name] = None
        elif not entity.is_furniture and has_moved(entity, truth):
            self.misplaced.add(name)
        else:
            self._open[name] = None


def has_moved(entity: Entity, truth: EntityState | None) -> bool:
    """Whether a thing is clearly away from its stored position."""
    if truth is None or truth.relation is Relation.HELD:
        return True
    return math.dist(truth.box.center_m, entity.position_m) > MAX_DISPLACEMENT_M


def _is_unchanged(mark_reported: EntityState | None, truth: EntityState) -> bool:
    """Whether what was reported still holds, ignoring small changes of a joint in motion."""
    if mark_reported is truth:
        return True
    if mark_reported is None or mark_reported.openness is None or truth.openness is None:
        return False
    return (
        truth.openness not in (0.0, 1.0)
        and abs(mark_reported.openness - truth.openness) <= OPENNESS_TOLERANCE
        and mark_reported.states == truth.states
    )


def _differ(old: Sequence[Entity], new: Sequence[Entity]) -> bool:
    if old is new:
        return False
    return len(old) != len(new) or any(map(operator.is_not, old, new))
