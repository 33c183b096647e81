"""Entity lists over the world's time: of the live memory as published, and of the replayed one."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from planner.replay.through.recorded import EntityChangeReceived, EntityListReceived
from planner.world.entity import Entity, OperationKind


class History:
    """A memory's content over time.

    A change counts from the newest time known when it arrived: what is learned late about an
    earlier picture is known late.
    """

    def __init__(self) -> None:
        self.stamps: list[float] = []
        self.lists: list[tuple[Entity, ...]] = []
        self.authors: set[str] = set()

    def note(self, stamp_s: float, entities: Sequence[Entity]) -> None:
        """Adds the list that is valid from a time on."""
        stamp_s = max(stamp_s, self.stamps[-1] if self.stamps else -math.inf)
        if self.stamps and self.stamps[-1] == stamp_s:
            self.lists[-1] = tuple(entities)
            return
        self.stamps.append(stamp_s)
        self.lists.append(tuple(entities))

    def at(self, stamp_s: float) -> tuple[Entity, ...] | None:
        """The list at a time; None before the first."""
        place = bisect.bisect_right(self.stamps, stamp_s)
        return self.lists[place - 1] if place else None


class LiveList:
    """The live memory's list, from its changes; snapshots start it and repair gaps.

    Attributes:
        history: its content over time.
        mended: number of repaired gaps.
    """

    def __init__(self) -> None:
        self.history = History()
        self.mended = 0
        self._sequence: int | None = None
        self._broken = True
        self._entities: dict[int, Entity] = {}

    def change(self, message: EntityChangeReceived) -> None:
        """Applies the next change; one out of order waits for a snapshot."""
        change = message.change
        if self._sequence is None or change.sequence <= self._sequence:
            return
        if change.sequence != self._sequence + 1:
            self._broken = True
            return
        for edit in change.edits:
            if edit.kind is OperationKind.REMOVE:
                self._entities.pop(edit.entity.entity_id, None)
            else:
                self._entities[edit.entity.entity_id] = edit.entity
        self._sequence = change.sequence
        self.history.authors.add(change.author)
        self._note(change.stamp_s)

    def snapshot(self, message: EntityListReceived) -> None:
        """Takes the whole list, which is right whatever was missed."""
        if self._sequence is not None:
            if message.sequence < self._sequence:
                return
            if message.sequence > self._sequence:
                self.mended += 1
                self._broken = True
        known = self._sequence
        self._sequence = message.sequence
        self._entities = {entity.entity_id: entity for entity in message.entities}
        # Each received change already has its own time, which is that of the picture.
        self._note(message.stamp_s if self._broken or known is None else self.history.stamps[-1])
        self._broken = False

    def _note(self, stamp_s: float) -> None:
        self.history.note(stamp_s, [self._entities[n] for n in sorted(self._entities)])
