"""The classes of a simulator's instance ids, for memory updaters that use ground truth."""

from __future__ import annotations

from planner.memory.part import Truth
from planner.world.vocabulary import EntityKind


class TrueClasses:
    """Looks ids up in the world's state, each one once."""

    def __init__(self, truth: Truth) -> None:
        """`truth` returns the current state."""
        self._truth = truth
        self._known: dict[int, str | None] = {}

    def of(self, instance: int) -> str | None:
        """The class of an object; None for furniture and unknown ids."""
        if instance not in self._known and (state := self._truth()) is not None:
            things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
            self._known.update({e.instance_id: e.class_name for e in things})
            self._known.setdefault(instance, None)
        return self._known.get(instance)

    def forget(self) -> None:
        """Clears the cache, for another world."""
        self._known.clear()
