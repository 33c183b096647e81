"""The truth of propositions in one state as PARTNR's published predicates compute it.

Which pairs satisfy a predicate is geometry and the same in all modes; how a proposition combines
them differs:

- DEFECT-D4: `number` counts pairs, not entities of the first list;
- DEFECT-D10: if there are too few, the result is that of the last pair;
- DEFECT-D11: a cluster is a group that is connected as a whole and has one entity of each list;
  one entity may count for several lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from planner.evaluation.propositions import NO_SECOND, Watch


class PublishedWatch(Watch):
    """See `Watch`; `values` has the pair that satisfies the proposition, nothing for clusters."""

    def _count(self) -> None:
        pair = self._satisfying_pair()
        self.holds = pair is not None
        count = len(self.proposition.lists)
        self.values = () if pair is None else tuple(frozenset({name}) for name in pair[:count])

    def _satisfying_pair(self) -> tuple[str, str] | None:
        proposition = self.proposition
        first = proposition.lists[0]
        second = proposition.lists[1] if len(proposition.lists) > 1 else (NO_SECOND,)
        runs = [(b,) for b in second] if proposition.is_same else [second]
        for run in runs:
            pairs = ((a, b) for a in first for b in run if b in self.rows[a])
            found = next(itertools.islice(pairs, proposition.number - 1, None), None)
            if found is not None:
                return found
        # DEFECT-D10
        last = (first[-1], second[-1])
        return last if last[1] in self.rows[last[0]] else None

    def _cluster(self, beside: Mapping[str, frozenset[str]]) -> None:
        lists = self.proposition.lists
        self.holds = any(
            all(not group.isdisjoint(names) for names in lists) for group in _connected(beside)
        )


def _connected(beside: Mapping[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    left = set(beside)
    while left:
        group: set[str] = set()
        waiting = {left.pop()}
        while waiting:
            name = waiting.pop()
            group.add(name)
            waiting |= beside[name] - group
        left -= group
        yield frozenset(group)
