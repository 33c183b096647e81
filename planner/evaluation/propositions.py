"""The truth of propositions in one state, updated with the scene (PARTNR-3.2).

W = {(a, b) of A x B : a != b, P(a, b)}                                  the witnesses
false is_same:  true if |{a : some b, (a, b) in W}| >= number
true is_same:   true if for one b |{a : (a, b) in W}| >= number
one list:       true if |{a of A : P(a)}| >= number
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Set

from planner.evaluation.predicates import (
    has_state,
    is_in_room,
    is_inside,
    is_next_to,
    is_on_floor,
    on_top_of,
    stands_open,
)
from planner.evaluation.scene import Scene
from planner.evaluation.task import Predicate, Proposition, asked_open
from planner.world.states import default_states

# Placeholder for the second argument of a one-argument predicate.
NO_SECOND = ""
_TRUE = frozenset({NO_SECOND})
_FALSE: frozenset[str] = frozenset()


class Watch:
    """One proposition and its witnesses in a scene.

    Attributes:
        proposition: what is watched.
        holds: its truth, ignoring dependencies.
        rows: for each entity of the first list, those of the second list for which the predicate
            holds (`NO_SECOND` for predicates of one list); empty for clusters.
        values: for each argument, the entities that serve as it now; restricted to second
            arguments shared by enough entities if they must be the same (PARTNR-D22).
    """

    def __init__(self, proposition: Proposition, scene: Scene) -> None:
        self.proposition = proposition
        self.rows: dict[str, frozenset[str]] = {}
        self.holds = False
        self.values: tuple[frozenset[str], ...] = ()
        self._second = frozenset(proposition.lists[1]) if len(proposition.lists) > 1 else _FALSE
        self._first = frozenset(proposition.lists[0])
        self.refresh(scene, self._first)

    @property
    def names(self) -> frozenset[str]:
        """All entities that the proposition names."""
        return frozenset(itertools.chain.from_iterable(self.proposition.lists))

    @property
    def serving(self) -> frozenset[str]:
        """The entities of the first list for which the predicate holds with any second."""
        return frozenset(a for a, row in self.rows.items() if row)

    def refresh(self, scene: Scene, changed: Set[str]) -> bool:
        """Re-evaluates what depends on the changed entities.

        Returns:
            Whether the truth or the serving arguments have changed.
        """
        before = (self.holds, self.values)
        if self.proposition.predicate is Predicate.IS_CLUSTERED:
            threshold = self.proposition.threshold_m
            self._cluster(
                {
                    a: frozenset(b for b in self.names if is_next_to(scene, a, b, threshold))
                    for a in self.names
                }
            )
        else:
            stale: Iterable[str] = self._first
            # Rooms never move, and a receptacle that moves also moves what is on it.
            if not (self._second & changed):
                stale = self._first & changed
            for name in stale:
                self.rows[name] = self._row(scene, name)
            self._count()
        return (self.holds, self.values) != before

    def _row(self, scene: Scene, name: str) -> frozenset[str]:
        proposition, predicate = self.proposition, self.proposition.predicate
        if predicate in default_states().predicates:
            return _TRUE if has_state(scene, predicate, name) else _FALSE
        opens = asked_open(predicate)
        if opens is not None:
            return _TRUE if stands_open(scene, name) is opens else _FALSE
        if predicate is Predicate.IS_ON_FLOOR:
            return _TRUE if is_on_floor(scene, name) else _FALSE
        others = proposition.lists[1]
        if predicate is Predicate.IS_ON_TOP:
            return (on_top_of(scene, name) & self._second) - {name}
        if predicate is Predicate.IS_INSIDE:
            return frozenset(b for b in others if is_inside(scene, name, b))
        if predicate is Predicate.IS_IN_ROOM:
            return frozenset(b for b in others if is_in_room(scene, name, b))
        return frozenset(b for b in others if is_next_to(scene, name, b, proposition.threshold_m))

    def _count(self) -> None:
        number = self.proposition.number
        first = frozenset(a for a, row in self.rows.items() if row)
        second = frozenset(itertools.chain.from_iterable(self.rows[a] for a in first))
        if self.proposition.is_same:
            second = frozenset(
                b for b in second if sum(b in row for row in self.rows.values()) >= number
            )
            first = frozenset(a for a in first if self.rows[a] & second)
            self.holds = bool(second)
        else:
            self.holds = len(first) >= number
        self.values = (first, second) if len(self.proposition.lists) > 1 else (first,)

    def _cluster(self, beside: Mapping[str, frozenset[str]]) -> None:
        """One entity of each list, all different, each next to another one (PARTNR-D15)."""
        lists = self.proposition.lists
        serving: list[set[str]] = [set() for _ in lists]
        for choice in itertools.product(*lists):
            chosen = frozenset(choice)
            if len(chosen) == len(choice) and all(beside[a] & chosen for a in choice):
                for found, name in zip(serving, choice, strict=True):
                    found.add(name)
        self.values = tuple(frozenset(found) for found in serving)
        self.holds = bool(serving[0])
