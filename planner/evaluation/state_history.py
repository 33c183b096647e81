"""The states of a run since an instruction, so that it can be judged again by another goal."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from planner.world.state import EntityState, WorldState

# Without an instruction, so much is kept: one may arrive after the states that follow it.
IDLE_S = 5.0
_STAMP_S = 1e-6


@dataclass(frozen=True, slots=True)
class _Change:
    """A state as the difference from the one before."""

    stamp_s: float
    step: int
    revision: int
    entities: Mapping[str, EntityState]
    gone: tuple[str, ...]


class StateHistory:
    """The states in order; each is kept as its difference from the one before."""

    def __init__(self) -> None:
        self._first: WorldState | None = None
        self._last: WorldState | None = None
        self._changes: list[_Change] = []

    def take(self, state: WorldState) -> None:
        """Adds the newest state."""
        last, self._last = self._last, state
        if last is None:
            self._first = state
            return
        old = last.entities
        different = {n: entity for n, entity in state.entities.items() if old.get(n) is not entity}
        gone = tuple(name for name in old if name not in state.entities)
        change = _Change(state.stamp_s, state.step, state.revision, different, gone)
        self._changes.append(change)

    def forget_before(self, stamp_s: float) -> None:
        """Drops what is older than the last state at or before a time, seconds of the world."""
        limit_s = stamp_s + _STAMP_S
        early = bisect_right(self._changes, limit_s, key=lambda change: change.stamp_s)
        if early:
            self._first = next(islice(self.states(), early, None))
            del self._changes[:early]

    def forget_idle(self) -> None:
        """Drops what an instruction can no longer be about."""
        if self._first is not None and self._last is not None:
            newest_s = self._last.stamp_s
            if newest_s - self._first.stamp_s > 2 * IDLE_S:
                self.forget_before(newest_s - IDLE_S)

    def states(self) -> Iterator[WorldState]:
        """All states, oldest first."""
        state = self._first
        if state is None:
            return
        yield state
        for change in self._changes:
            entities = {**state.entities, **change.entities}
            for name in change.gone:
                del entities[name]
            state = WorldState(
                change.stamp_s,
                change.step,
                change.revision,
                state.house,
                state.episode_id,
                entities,
            )
            yield state
