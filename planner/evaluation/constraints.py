"""Which propositions count, given order, terminal and tied-argument constraints.

PARTNR-3.4, PARTNR-D20 to PARTNR-D26.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from planner.evaluation.progress import Reason
from planner.evaluation.propositions import Watch
from planner.evaluation.task import Dependency, Evaluation, Proposition, Tie, TieKind
from planner.evaluation.tracker import Tracker


@dataclass(frozen=True, slots=True)
class PropositionStatus:
    """Whether a proposition counts; if not, why, with the details for an explanation.

    Attributes:
        reason: None if it counts.
        others: the propositions that it conflicts with.
        gate: the dependency that is closed.
        argument: the tied argument.
        used: the entities used as the tied argument by this proposition and the other one.
    """

    reason: Reason | None = None
    others: tuple[int, ...] = ()
    gate: Dependency | None = None
    argument: int = 0
    used: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


def with_ties(evaluation: Evaluation) -> tuple[Proposition, ...]:
    """The propositions with ties within one of them applied as `is_same` (PARTNR-D24).

    Only the second argument can be required to be the same for all; `number` different entities
    of the first list are compared individually.
    """
    tied = {member for tie in evaluation.ties for member in tie.members}
    return tuple(
        replace(p, is_same=True) if p.number > 1 and (i, 1) in tied else p
        for i, p in enumerate(evaluation.propositions)
    )


class Rules:
    """Applies an evaluation's constraints to a tracker's latches."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._before: list[list[int]] = [[] for _ in evaluation.propositions]
        for earlier, later in evaluation.edges:
            self._before[later].append(earlier)

    def statuses(self, tracker: Tracker, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """The status of each proposition if the episode ended now (PARTNR-D26)."""
        found = [self._status(i, tracker, watches) for i in range(len(watches))]
        counted = {i for i, status in enumerate(found) if status.reason is None}
        # Every tie is applied to what order and terminal constraints left over, not to what other
        # ties left, so that the order in which ties are written does not matter.
        for tie in self._evaluation.ties:
            members = {
                i: tracker.served(i, argument, watches)
                for i, argument in tie.members
                if i in counted
            }
            for i, status in _broken(tie, members).items():
                if found[i].reason is None:
                    found[i] = status
        return tuple(found)

    def _status(self, i: int, tracker: Tracker, watches: Sequence[Watch]) -> PropositionStatus:
        if i in self._evaluation.always:
            return PropositionStatus(Reason.NOT_ALWAYS if tracker.ever_false[i] else None)
        if i in self._evaluation.never:
            return PropositionStatus(Reason.FORBIDDEN if tracker.ever_true[i] else None)
        first = tracker.first_step[i]
        if first is None:
            shut = tracker.shut_gate(i)
            return (
                PropositionStatus(Reason.NEVER)
                if shut is None
                else _behind(Reason.GATE_CLOSED, shut)
            )
        for earlier in self._before[i]:
            step = tracker.first_step[earlier]
            if step is None or step >= first:
                return PropositionStatus(Reason.OUT_OF_ORDER, (earlier,))
        if i in self._evaluation.terminal and not tracker.effective[i]:
            shut = tracker.shut_gate(i)
            if watches[i].holds and shut is not None:
                return _behind(Reason.NOT_TERMINAL, shut)
            return PropositionStatus(Reason.NOT_TERMINAL)
        return PropositionStatus()


def _behind(reason: Reason, shut: tuple[Dependency, tuple[int, ...]]) -> PropositionStatus:
    gate, against = shut
    return PropositionStatus(reason, against, gate)


def _broken(tie: Tie, members: Mapping[int, frozenset[str]]) -> dict[int, PropositionStatus]:
    """The members that violate a tie, by PARTNR-D23."""
    if len(members) < 2:
        return {}
    arguments = dict(tie.members)
    if tie.kind is TieKind.SAME:
        kept, reason = _sharing(members), Reason.ARG_NOT_SAME
    else:
        kept, reason = matching(members), Reason.ARG_NOT_DIFFERENT
    broken = {}
    for i in members:
        if i not in kept:
            other = _partner(i, members, kept, tie.kind)
            used = (members[i], members[other])
            broken[i] = PropositionStatus(reason, (other,), argument=arguments[i], used=used)
    return broken


def _sharing(members: Mapping[int, frozenset[str]]) -> set[int]:
    """The members with the most common value; among equals the smallest name."""
    counts = Counter(value for values in members.values() for value in values)
    if not counts:
        return set(members)
    value = min(counts, key=lambda name: (-counts[name], name))
    return {i for i, values in members.items() if value in values}


def matching(members: Mapping[int, frozenset[str]]) -> set[int]:
    """The largest set of members that can have pairwise different values (PARTNR-D23).

    Augmenting paths in order of index: a member once assigned stays assigned, so among several
    largest sets the one with the earlier propositions is chosen.
    """
    holder: dict[str, int] = {}
    for i in sorted(members):
        _seat(i, members, holder, set())
    return set(holder.values())


def _seat(
    i: int, members: Mapping[int, frozenset[str]], holder: dict[str, int], tried: set[str]
) -> bool:
    for value in sorted(members[i]):
        if value in tried:
            continue
        tried.add(value)
        if value not in holder or _seat(holder[value], members, holder, tried):
            holder[value] = i
            return True
    return False


def _partner(i: int, members: Mapping[int, frozenset[str]], kept: set[int], kind: TieKind) -> int:
    """The member to name in the explanation of another one that does not count."""
    others = sorted(kept - {i})
    if kind is TieKind.DIFFERENT:
        others = [j for j in others if members[j] & members[i]] or others
    return others[0]
