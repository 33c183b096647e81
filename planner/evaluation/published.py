"""The published PARTNR code's rules, for comparison with published numbers (mode partnr_v0).

What it computes differently from the paper, on purpose here as there:

- DEFECT-D1: tied arguments are compared as sets of *characters*, so that nearly all names match;
- DEFECT-D2: a proposition with number n becomes n propositions that each count, and the gates of
  the copies are put on the wrong propositions;
- DEFECT-D4: `number` counts pairs, not entities of the first list.

Further rules of that code: a tied argument is the one of the first satisfaction; the order is
judged against all ancestors; a gate looks at the steps before, and `after_unsatisfied` opens
for good once a head was lost.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from planner.evaluation.constraints import Standing
from planner.evaluation.progress import Reason
from planner.evaluation.propositions import NO_SECOND, Watch
from planner.evaluation.task import (
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
    Tie,
    TieKind,
)


@dataclass(slots=True)
class _Unrolled:
    """An evaluation whose propositions with number n have become n propositions (DEFECT-D2)."""

    propositions: list[Proposition]
    gated: list[list[int]]
    ancestors: dict[int, set[int]]
    ties: list[Tie] = field(default_factory=list)
    terminal: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Memory:
    """After a step: when each was first satisfied, whether it is, whether it was lost."""

    first: list[int | None]
    result: list[bool]
    lost: list[bool]


def _unroll(evaluation: Evaluation) -> _Unrolled:
    done = _Unrolled(
        propositions=list(evaluation.propositions),
        gated=[list(dependency.gated) for dependency in evaluation.dependencies],
        ancestors=_ancestors(evaluation.edges),
        ties=list(evaluation.ties),
        terminal=set(evaluation.terminal),
    )
    for index, proposition in enumerate(evaluation.propositions):
        for number in range(1, proposition.number):
            done.propositions.append(replace(proposition, number=number))
            new = len(done.propositions) - 1
            if index in done.terminal:
                done.terminal.add(new)
            if index in done.ancestors:
                done.ancestors[new] = set(done.ancestors[index])
            done.ties = [tie for old in done.ties for tie in _with_copy(old, index, new)]
            for gated in done.gated:
                if index in gated:
                    # DEFECT-D2: the loop counter instead of the copy's index.
                    gated.append(number)
    return done


def _with_copy(tie: Tie, index: int, new: int) -> list[Tie]:
    argument = dict(tie.members).get(index)
    if argument is None:
        return [tie]
    if tie.kind is TieKind.SAME:
        return [Tie(tie.kind, (*tie.members, (new, argument)))]
    others = tuple(member for member in tie.members if member[0] != index)
    return [tie, Tie(tie.kind, ((new, argument), *others))]


def _ancestors(edges: Sequence[tuple[int, int]]) -> dict[int, set[int]]:
    parents: dict[int, set[int]] = {}
    for earlier, later in edges:
        parents.setdefault(earlier, set())
        parents.setdefault(later, set()).add(earlier)
    found: dict[int, set[int]] = {}
    for node in parents:
        seen: set[int] = set()
        waiting = list(parents[node])
        while waiting:
            parent = waiting.pop()
            if parent not in seen:
                seen.add(parent)
                waiting += parents[parent]
        found[node] = seen
    return found


class PublishedJudge:
    """One episode by the published rules."""

    def __init__(self, evaluation: Evaluation) -> None:
        done = _unroll(evaluation)
        self._done = done
        self.propositions = tuple(done.propositions)
        count = len(self.propositions)
        self._gates: list[list[Dependency]] = [[] for _ in range(count)]
        for dependency, gated in zip(evaluation.dependencies, done.gated, strict=True):
            for index in gated:
                if index < count:
                    self._gates[index].append(dependency)
        self._now = self._before = _Memory([None] * count, [False] * count, [False] * count)
        self._used: list[tuple[frozenset[str], ...]] = [()] * count
        self._ever_true = [False] * count
        self._step = -1
        self.pending = False

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition was first satisfied."""
        return self._now.first

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """Takes up the world of a step; gates look at the steps before it."""
        if step != self._step:
            self._step, self._before = step, self._now
        before = self._before
        now = _Memory(list(self._now.first), [], list(before.lost))
        for i, watch in enumerate(watches):
            used = _first_witness(watch)
            opened = all(self._is_open(gate) for gate in self._gates[i])
            self._ever_true[i] = self._ever_true[i] or used is not None
            if used is not None and opened and now.first[i] is None:
                now.first[i], self._used[i] = step, used
            now.result.append(used is not None and opened)
            now.lost[i] = now.lost[i] or (before.result[i] and not now.result[i])
        self._now = now
        self.pending = now != before

    def _is_open(self, gate: Dependency) -> bool:
        before = self._before
        tests: dict[GateRelation, Callable[[int], bool]] = {
            GateRelation.WHILE_SATISFIED: lambda head: before.result[head],
            GateRelation.AFTER_SATISFIED: lambda head: before.first[head] is not None,
            GateRelation.AFTER_UNSATISFIED: lambda head: before.lost[head],
        }
        heads = map(tests[gate.relation], gate.depends_on)
        return all(heads) if gate.mode is DependencyMode.ALL else any(heads)

    def standings(self, watches: Sequence[Watch]) -> tuple[Standing, ...]:
        """How each proposition stands; every constraint is applied by itself."""
        found = [self._standing(i) for i in range(len(watches))]
        for tie in self._done.ties:
            for i, standing in self._broken(tie).items():
                if found[i].reason is None:
                    found[i] = standing
        return tuple(found)

    def latches(self) -> dict[str, JsonValue]:
        """As `Judge`."""
        return {
            "step": self._step,
            "now": asdict(self._now),
            "before": asdict(self._before),
            "used": [[list[JsonValue](sorted(v)) for v in used] for used in self._used],
            "ever_true": list(self._ever_true),
        }

    def restore(self, latches: Mapping[str, Any]) -> None:
        """As `Judge`."""
        self._step = latches["step"]
        self._now, self._before = _Memory(**latches["now"]), _Memory(**latches["before"])
        self._used = [tuple(frozenset(value) for value in used) for used in latches["used"]]
        self._ever_true = list(latches["ever_true"])

    def _standing(self, i: int) -> Standing:
        first = self._now.first[i]
        if first is None:
            if self._ever_true[i] and self._gates[i]:
                gate = self._gates[i][0]
                return Standing(Reason.GATE_CLOSED, gate.depends_on, gate)
            return Standing(Reason.NEVER)
        for ancestor in sorted(self._done.ancestors.get(i, ())):
            step = self._now.first[ancestor]
            if step is None or first <= step:
                return Standing(Reason.OUT_OF_ORDER, (ancestor,))
        if i in self._done.terminal and not self._now.result[i]:
            return Standing(Reason.NOT_TERMINAL)
        return Standing()

    def _broken(self, tie: Tie) -> dict[int, Standing]:
        satisfied = [
            (step, i, argument)
            for i, argument in tie.members
            if (step := self._now.first[i]) is not None
        ]
        satisfied.sort(key=lambda member: member[0])
        if len(satisfied) < 2:
            return {}
        _, pivot, argument = satisfied[0]
        earlier = [self._used[pivot][argument]]
        broken: dict[int, Standing] = {}
        for _, i, own in satisfied[1:]:
            used = self._used[i][own]
            if tie.kind is TieKind.SAME and not earlier[0] & used:
                broken[i] = Standing(Reason.ARG_NOT_SAME, (pivot,), argument=own)
            elif tie.kind is TieKind.DIFFERENT:
                if any(used & value for value in earlier):
                    broken[i] = Standing(Reason.ARG_NOT_DIFFERENT, (pivot,), argument=own)
                earlier.append(used)
        return broken


def _first_witness(watch: Watch) -> tuple[frozenset[str], ...] | None:
    """What satisfies a proposition, as that code compares it; None where nothing does.

    An argument is one name and compared by its characters (DEFECT-D1); a cluster's are lists of
    names.
    """
    proposition = watch.proposition
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return watch.values if watch.holds else None
    first = proposition.lists[0]
    second = proposition.lists[1] if len(proposition.lists) > 1 else (NO_SECOND,)
    if proposition.is_same:
        runs = [[(a, b) for a in first] for b in second]
    else:
        runs = [list(itertools.product(first, second))]
    for run in runs:
        # DEFECT-D4: pairs are counted.
        pairs = (pair for pair in run if pair[1] in watch.rows[pair[0]])
        witness = next(itertools.islice(pairs, proposition.number - 1, None), None)
        if witness is not None:
            return tuple(frozenset(name) for name in witness)
    return None
