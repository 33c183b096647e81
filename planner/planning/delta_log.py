"""The memory's changes as a planner reads them, with gaps repaired from snapshots."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from planner.memory.wording import delta_lines
from planner.world.entity import Edit, Entity, MemoryChange, OperationKind

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
        known = self._changes[-1].sequence if self._changes else 0
        if not self.broken:
            # A restarted memory counts from zero again.
            if sequence >= self.sequence:
                return
            self.forget()
        elif sequence < known:
            return
        edits = tuple(self._difference({e.entity_id: e for e in entities}))
        self._take(MemoryChange(sequence, stamp_s, REPAIRED, edits))

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
