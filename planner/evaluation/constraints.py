"""Which propositions count, given order and ties; when they became true; and why, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from pydantic import JsonValue

from planner.evaluation.predicates import Watch
from planner.evaluation.progress import Reason
from planner.evaluation.task import (
    NEXT_TO_M,
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    PersonPredicate,
    Predicate,
    Proposition,
    Tie,
    TieKind,
    asked_word,
    in_order,
)
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.errors import PlannerError

# When propositions first came true and what their gates let through: the latches of a run.
#
#     raw(t)   the proposition's truth in the state at t
#     gate(t)  the conjunction of the dependencies that list it (PARTNR-D18, PARTNR-D19)
#     eff(t)   raw(t) and gate(t);   s = min{t : eff(t)}
#
# `t` is the simulation step. Only the latches are kept, so the cost of a step does not depend on
# the length of an episode.


class Tracker:
    """The latches of one episode, in the paper's sense (`strict`).

    Attributes:
        first_step: s of each proposition; None if it never was satisfied.
        effective: eff of each proposition now.
        ever_true, ever_false: whether raw was ever true, or false.
        pending: whether the next step may change the result in an unchanged world: a gate opens
            only after the step that satisfied its heads.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        count = len(evaluation.propositions)
        self.first_step: list[int | None] = [None] * count
        self.effective = [False] * count
        self.ever_true = [False] * count
        self.ever_false = [False] * count
        self.pending = False
        self._gates: list[list[Dependency]] = [[] for _ in range(count)]
        for dependency in evaluation.dependencies:
            for index in dependency.gated:
                self._gates[index].append(dependency)
        links = (
            (head, gated)
            for dependency in evaluation.dependencies
            for head in dependency.depends_on
            for gated in dependency.gated
        )
        self._order = in_order(count, links)
        # For each proposition that never counted: the gate that was closed when it last was true.
        self._shut: list[tuple[int, tuple[int, ...]] | None] = [None] * count
        # The entities that served as each tied argument while it counted (PARTNR-D22); for terminal
        # propositions they count only at the end and are read from the watch.
        self._served: dict[tuple[int, int], set[str]] = {
            member: set()
            for tie in evaluation.ties
            for member in tie.members
            if member[0] not in evaluation.terminal
        }

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """Processes the state of a step; the world has not changed since the last one before."""
        for i in self._order:
            raw = watches[i].holds
            if raw:
                self.ever_true[i] = True
            else:
                self.ever_false[i] = True
            shut = self._first_shut(i, step) if raw and self._gates[i] else None
            now = raw and shut is None
            self.effective[i] = now
            if shut is not None:
                self._shut[i] = shut
            if now and self.first_step[i] is None:
                self.first_step[i] = step
        self.pending = step in self.first_step
        for (i, argument), served in self._served.items():
            if self.effective[i]:
                served |= watches[i].values[argument]

    def latches(self) -> dict[str, JsonValue]:
        """Everything that is remembered, for `restore`."""
        return {
            "first_step": list(self.first_step),
            "effective": list(self.effective),
            "ever_true": list(self.ever_true),
            "ever_false": list(self.ever_false),
            "shut": [None if s is None else [s[0], *s[1]] for s in self._shut],
            "served": [[i, k, *sorted(names)] for (i, k), names in self._served.items()],
        }

    def restore(self, latches: Mapping[str, Any]) -> None:
        """Continues from the latches of another tracker of the same evaluation."""
        self.first_step = list(latches["first_step"])
        self.effective = list(latches["effective"])
        self.ever_true = list(latches["ever_true"])
        self.ever_false = list(latches["ever_false"])
        self._shut = [None if s is None else (s[0], tuple(s[1:])) for s in latches["shut"]]
        for i, k, *names in latches["served"]:
            self._served[i, k] = set(names)

    def served(self, index: int, argument: int, watches: Sequence[Watch]) -> frozenset[str]:
        """The candidate values of a tied argument, C of PARTNR-D22."""
        latched = self._served.get((index, argument))
        if latched is not None:
            return frozenset(latched)
        return watches[index].values[argument] if self.effective[index] else frozenset()

    def shut_gate(self, index: int) -> tuple[Dependency, tuple[int, ...]] | None:
        """The gate that kept a proposition from counting when it last was true.

        Returns:
            The dependency and those of its heads that closed it; None if none did.
        """
        shut = self._shut[index]
        return None if shut is None else (self._gates[index][shut[0]], shut[1])

    def _first_shut(self, index: int, step: int) -> tuple[int, tuple[int, ...]] | None:
        for k, gate in enumerate(self._gates[index]):
            against = tuple(h for h in gate.depends_on if not self._allows(gate.relation, h, step))
            needed = len(gate.depends_on) if gate.mode is DependencyMode.ANY else 1
            if len(against) >= needed:
                return k, against
        return None

    def _allows(self, relation: GateRelation, head: int, step: int) -> bool:
        if relation is GateRelation.WHILE_SATISFIED:
            return self.effective[head]
        first = self.first_step[head]
        if first is None or first >= step:
            return False
        return relation is GateRelation.AFTER_SATISFIED or not self.effective[head]


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


# The rules that turn witnesses into a result: the seam between strict and compat modes.


class JudgeError(PlannerError):
    """An episode that these rules cannot judge."""


class Judge(Protocol):
    """The rules of one episode and what they have latched so far.

    Attributes:
        watch: the class that watches its propositions.
    """

    watch: ClassVar[type[Watch]]

    @property
    def propositions(self) -> tuple[Proposition, ...]:
        """The propositions that are watched and counted."""

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition first counted."""

    @property
    def pending(self) -> bool:
        """Whether the next step may change the result in an unchanged world."""

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """Processes the world of a step."""

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """The status of each proposition if the episode ended now; may raise `JudgeError`."""

    def latches(self) -> dict[str, JsonValue]:
        """Everything that is remembered of the states so far."""

    def restore(self, latches: Mapping[str, Any]) -> None:
        """Continues from the latches of another judge with the same evaluation and mode."""


class StrictJudge:
    """The paper's rules with the decisions (PARTNR-D18 to PARTNR-D27)."""

    watch: ClassVar[type[Watch]] = Watch

    def __init__(self, evaluation: Evaluation) -> None:
        self.propositions = with_ties(evaluation)
        self._tracker = Tracker(evaluation)
        self._rules = Rules(evaluation)

    @property
    def first_steps(self) -> Sequence[int | None]:
        """When each proposition first counted; s of PARTNR-D18."""
        return self._tracker.first_step

    @property
    def pending(self) -> bool:
        """See `Judge`."""
        return self._tracker.pending

    def advance(self, step: int, watches: Sequence[Watch]) -> None:
        """See `Judge`."""
        self._tracker.advance(step, watches)

    def statuses(self, watches: Sequence[Watch]) -> tuple[PropositionStatus, ...]:
        """See `Judge`."""
        return self._rules.statuses(self._tracker, watches)

    def latches(self) -> dict[str, JsonValue]:
        """See `Judge`."""
        return self._tracker.latches()

    def restore(self, latches: Mapping[str, Any]) -> None:
        """See `Judge`."""
        self._tracker.restore(latches)


# Propositions and failures as text (PARTNR-3.6, PARTNR-D29).

_BETWEEN: dict[str, str] = {
    Predicate.IS_ON_TOP: "on top of",
    Predicate.IS_INSIDE: "inside",
    Predicate.IS_IN_ROOM: "in",
    Predicate.IS_NEXT_TO: "next to",
    PersonPredicate.IS_TOLD: "told",
    PersonPredicate.IS_GUIDED: "guided to",
    PersonPredicate.IS_FOLLOWED: "followed to",
    PersonPredicate.IS_HANDED_OVER: "handed over to",
    PersonPredicate.IS_NEAR_PERSON: "near",
}
_ARGUMENTS = {
    "objects": "object", "receptacles": "receptacle", "rooms": "room", "entities_a": "entity",
    "entities_b": "entity", "persons": "person", "texts": "text", "places": "place",
    "agents": "agent",
}  # fmt: skip


def phrase(proposition: Proposition) -> str:
    """A proposition as text, such as "cup_0 or cup_1 on top of table_2"."""
    first = _choice(proposition.lists[0])
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return f"{_listed([_choice(names) for names in proposition.lists], 'and')} close together"
    if proposition.number > 1:
        first = f"{proposition.number} of {_listed(proposition.lists[0], 'and')}"
    if proposition.predicate is Predicate.IS_ON_FLOOR:
        return f"{first} on the floor"
    word = asked_word(proposition.predicate)
    if word:
        return f"{first} {word}"
    second = _choice(proposition.lists[1])
    if proposition.is_same and len(proposition.lists[1]) > 1 and proposition.number > 1:
        second = f"the same one of {second}"
    near = ""
    if proposition.predicate is Predicate.IS_NEXT_TO and proposition.threshold_m != NEXT_TO_M:
        near = f" (within {proposition.threshold_m:g} m)"
    return f"{first} {_BETWEEN[proposition.predicate]} {second}{near}"


def sentence(
    i: int,
    status: PropositionStatus,
    propositions: Sequence[Proposition],
    first_steps: Sequence[int | None],
    serving: frozenset[str],
) -> str:
    """Why a proposition does not count, by the templates of PARTNR-D29; "" if it counts.

    Args:
        i: index of the proposition.
        status: of this proposition.
        propositions: of the whole task.
        first_steps: when each first counted.
        serving: the entities of its first list for which it is true now.
    """
    this = _quoted(propositions[i])
    gate = status.gate
    link = "or" if gate is not None and gate.mode is DependencyMode.ANY else "and"
    others = _listed([_quoted(propositions[j]) for j in status.others], link)
    match status.reason:
        case None:
            return ""
        case Reason.NEVER:
            return f"{this} was never achieved{_so_far(propositions[i], serving)}."
        case Reason.GATE_CLOSED:
            return f"{this} was achieved, but not {_moment(gate, others)}."
        case Reason.OUT_OF_ORDER:
            if first_steps[status.others[0]] == first_steps[i]:
                return f"{this} was done at the same time as {others}, not after it."
            return f"{this} was done before {others}."
        case Reason.NOT_TERMINAL if gate is not None:
            return f"{this} was achieved, but at the end not {_moment(gate, others)}."
        case Reason.NOT_TERMINAL:
            so_far = _so_far(propositions[i], serving)
            return f"{this} was achieved but no longer held at the end{so_far}."
        case Reason.NOT_ALWAYS:
            return f"{this} did not hold all the time."
        case Reason.FORBIDDEN:
            return f"{this} must never hold."
    argument = _argument(propositions[i], status.argument)
    own, other = status.used
    if status.reason is Reason.ARG_NOT_SAME:
        different = f", not {_choice(sorted(own))} and {_choice(sorted(other))}" if own else ""
        return f"{this} and {others} should use the same {argument}{different}."
    both = f", not both {_choice(sorted(own & other))}" if own & other else ""
    return f"{this} and {others} should use different {_plural(argument)}{both}."


def _so_far(proposition: Proposition, serving: frozenset[str]) -> str:
    """If several entities are needed, those for which the proposition is true."""
    if proposition.number < 2 or proposition.is_same:
        return ""
    if not serving:
        return ": none is"
    return f": only {_listed(sorted(serving), 'and')} {'is' if len(serving) == 1 else 'are'}"


def _moment(gate: Dependency | None, heads: str) -> str:
    if gate is None or gate.relation is GateRelation.WHILE_SATISFIED:
        return f"while {heads}"
    if gate.relation is GateRelation.AFTER_SATISFIED:
        return f"after {heads}"
    return f"after {heads} was undone"


def _argument(proposition: Proposition, k: int) -> str:
    return _ARGUMENTS.get(proposition.argument_names[k], "entity")


def _plural(word: str) -> str:
    return "entities" if word == "entity" else f"{word}s"


def _quoted(proposition: Proposition) -> str:
    return f'"{phrase(proposition)}"'


def _choice(names: Sequence[str]) -> str:
    return _listed(names, "or")


def _listed(words: Sequence[str], link: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {link} {words[-1]}"


JUDGE_INTERFACE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePart:
    """The record of a way of scoring; its name is the mode that results carry.

    Attributes:
        summary: one line for the help.
        make: makes the judge of one episode; raises `PlannerError` for a goal that it cannot judge.
        options: reserved.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[Evaluation], Judge]
    options: tuple[Option, ...] = ()
    interface: int = JUDGE_INTERFACE


JUDGES: Mapping[str, JudgePart] = {
    "strict": JudgePart(summary="the rules as the paper defines them", make=StrictJudge)
}

ALL_JUDGES: Catalog[JudgePart] = Catalog(
    "judge", __name__, "JUDGES", f"{__name__}:JudgePart", JUDGE_INTERFACE, group="planner.judges"
)
