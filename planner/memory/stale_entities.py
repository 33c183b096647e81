"""What a look could tell that the memory has not from an earlier one.

Kept up with what changes from one moment to the next, since in most moments hardly anything does.
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

# Truth this near the stored place: it is there, and something else hides it.
MAX_DISPLACEMENT_M: Final = 0.3


class StaleEntities:
    """The entities whose sight would tell something, and those that are missed somewhere.

    Attributes:
        names: what is to be learned where it shows.
        missed: what lies elsewhere than remembered: its stored place may be seen to be empty.
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
        """Notes that the memory was told of these as they are."""
        for name in names:
            self._reported[name] = truths[name]
            self._stale.add(name)

    def is_up_to_date(self, revision: int, entities: Sequence[Entity]) -> bool:
        """Whether nothing has changed since `follow` but agents and what they carry along."""
        return (
            revision == self._revision and not self._stale and not _differ(self._entities, entities)
        )

    def follow(self, state: WorldState, entities: Sequence[Entity], revision: int = -1) -> None:
        """Takes up what the world and the memory are now."""
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
        # What an action said of it since it was told, where nothing came of it, can wait.
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
    """Whether a thing is clearly not where it is remembered."""
    if truth is None or truth.relation is Relation.HELD:
        return True
    return math.dist(truth.box.center_m, entity.position_m) > MAX_DISPLACEMENT_M


def _is_unchanged(mark_reported: EntityState | None, truth: EntityState) -> bool:
    """Whether what was told is so yet, or but for how far something on its way stands open."""
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
