"""The published PARTNR code's rules, for comparison with published numbers (mode partnr_v0)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from pydantic import JsonValue

from planner.evaluation.constraints import JudgeError, JudgePart, PropositionStatus
from planner.evaluation.predicates import NO_SECOND, Watch
from planner.evaluation.progress import Mode, Reason
from planner.evaluation.task import (
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
    Tie,
    TieKind,
    asked_open,
    is_about_person,
)
from planner.world.errors import PlannerError

# The truth of propositions in one state as PARTNR's published predicates compute it.
#
# Which pairs satisfy a predicate is geometry and the same in all modes; how a proposition combines
# them differs:
#
# - DEFECT-D4: `number` counts pairs, not entities of the first list;
# - DEFECT-D10: if there are too few, the result is that of the last pair;
# - DEFECT-D11: a cluster is a group that is connected as a whole and has one entity of each list;
#   one entity may count for several lists.


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


@dataclass(slots=True)
class _Unrolled:
    """An evaluation whose propositions with number n have become n propositions (DEFECT-D2)."""

    propositions: list[Proposition]
    gated: list[list[int]]
    orders: list[dict[int, set[int]]]
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
        orders=[_ancestors(edges) for edges in evaluation.orders],
        ties=list(evaluation.ties),
        terminal=set(evaluation.terminal),
    )
    for index, proposition in enumerate(evaluation.propositions):
        for number in range(1, proposition.number):
            done.propositions.append(replace(proposition, number=number))
            new = len(done.propositions) - 1
            if index in done.terminal:
                done.terminal.add(new)
            for ancestors in done.orders:
                if index in ancestors:
                    ancestors[new] = ancestors[index]
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


class PublishedError(JudgeError):
    """An episode on which the published code fails with an error of its own."""


class PublishedJudge:
    """Judges one episode by the published rules."""

    watch: ClassVar[type[Watch]] = PublishedWatch

    def __init__(self, evaluation: Evaluation) -> None:
        if evaluation.always or evaluation.never:
            raise PlannerError(f"{Mode.PUBLISHED} has no constraints on every state")
        if any(asked_open(p.predicate) is not None for p in evaluation.propositions):
            raise PlannerError(f"{Mode.PUBLISHED} does not know whether something is open")
        if any(is_about_person(p.predicate) for p in evaluation.propositions):
            raise PlannerError(f"{Mode.PUBLISHED} does not know persons")
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
        """Processes the world of a step; gates consider the steps before it."""
        if step != self._step:
            self._step, self._before = step, self._now
        before = self._before
        now = _Memory(list(self._now.first), [], list(before.lost))
        for i, watch in enumerate(watches):
            opened = all(self._is_open(gate) for gate in self._gates[i])
            self._ever_true[i] = self._ever_true[i] or watch.holds
            if watch.holds and opened and now.first[i] is None:
                now.first[i] = step
                # DEFECT-D1: names are compared as sets of characters.
                self._used[i] = tuple(frozenset(name) for (name,) in watch.values)
            now.result.append(watch.holds and opened)
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

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """The status of each proposition; every constraint is applied independently.

        Raises:
            PublishedError: if the published code fails (DEFECT-D12).
        """
        found = [self._status(i) for i in range(len(watches))]
        for tie in self._done.ties:
            for i, status in self._broken(tie).items():
                if found[i].reason is None:
                    found[i] = status
        return tuple(found)

    def latches(self) -> dict[str, JsonValue]:
        """See `Judge`."""
        return {
            "step": self._step,
            "now": asdict(self._now),
            "before": asdict(self._before),
            "used": [[list[JsonValue](sorted(v)) for v in used] for used in self._used],
            "ever_true": list(self._ever_true),
        }

    def restore(self, latches: Mapping[str, Any]) -> None:
        """See `Judge`."""
        self._step = latches["step"]
        self._now, self._before = _Memory(**latches["now"]), _Memory(**latches["before"])
        self._used = [tuple(frozenset(value) for value in used) for used in latches["used"]]
        self._ever_true = list(latches["ever_true"])

    def _status(self, i: int) -> PropositionStatus:
        first = self._now.first[i]
        if first is None:
            if self._ever_true[i] and self._gates[i]:
                gate = self._gates[i][0]
                return PropositionStatus(Reason.GATE_CLOSED, gate.depends_on, gate)
            return PropositionStatus(Reason.NEVER)
        for ancestor in sorted({a for order in self._done.orders for a in order.get(i, ())}):
            step = self._now.first[ancestor]
            if step is None or first <= step:
                return PropositionStatus(Reason.OUT_OF_ORDER, (ancestor,))
        if i in self._done.terminal and not self._now.result[i]:
            return PropositionStatus(Reason.NOT_TERMINAL)
        return PropositionStatus()

    def _broken(self, tie: Tie) -> dict[int, PropositionStatus]:
        satisfied = [
            (step, i, argument)
            for i, argument in tie.members
            if (step := self._now.first[i]) is not None
        ]
        satisfied.sort(key=lambda member: member[0])
        if len(satisfied) < 2:
            return {}
        for _, i, argument in satisfied:
            if self.propositions[i].predicate is Predicate.IS_CLUSTERED:
                raise PublishedError(
                    f"by the published rules a {tie.kind} on argument {argument} of the cluster "
                    f"in proposition {i} is an error; it can be judged in mode strict"
                )
        _, pivot, argument = satisfied[0]
        earlier = [self._used[pivot][argument]]
        broken: dict[int, PropositionStatus] = {}
        for _, i, own in satisfied[1:]:
            used = self._used[i][own]
            if tie.kind is TieKind.SAME and not earlier[0] & used:
                broken[i] = PropositionStatus(Reason.ARG_NOT_SAME, (pivot,), argument=own)
            elif tie.kind is TieKind.DIFFERENT:
                if any(used & value for value in earlier):
                    broken[i] = PropositionStatus(Reason.ARG_NOT_DIFFERENT, (pivot,), argument=own)
                earlier.append(used)
        return broken


PARTNR_V0 = JudgePart(summary="the rules as PARTNR's published code has them", make=PublishedJudge)
