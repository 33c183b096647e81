"""A task's goal as plain records, and the order of its propositions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

from planner.world.states import default_states

# Cycles and topological order among propositions.


def find_cycle(links: Iterable[tuple[int, int]]) -> list[int]:
    """A cycle in links (from, to), with the first node repeated at the end; empty if none."""
    successors: dict[int, list[int]] = {}
    for start, end in sorted(links):
        successors.setdefault(start, []).append(end)
    done: set[int] = set()
    for root in successors:
        if root in done:
            continue
        # Not recursive: a file may chain hundreds of propositions.
        stack = [(root, iter(successors[root]))]
        path, on_path = [root], {root}
        while stack:
            node, rest = stack[-1]
            following = next((n for n in rest if n not in done), None)
            if following is None:
                stack.pop()
                on_path.discard(path.pop())
                done.add(node)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            else:
                stack.append((following, iter(successors.get(following, ()))))
                path.append(following)
                on_path.add(following)
    return []


def in_order(count: int, links: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """The numbers 0 to count-1, sorted so that each link (from, to) goes forward.

    Raises:
        ValueError: if the links form a cycle.
    """
    waiting = [0] * count
    successors: list[list[int]] = [[] for _ in range(count)]
    for start, end in set(links):
        successors[start].append(end)
        waiting[end] += 1
    ready = [i for i in range(count) if not waiting[i]]
    order = []
    for node in ready:
        order.append(node)
        for following in successors[node]:
            waiting[following] -= 1
            if not waiting[following]:
                ready.append(following)
    if len(order) != count:
        raise ValueError("the links form a cycle")
    return tuple(order)


# PARTNR's default for is_next_to and is_clustered (PARTNR-T6).
NEXT_TO_M = 0.5


class Predicate(StrEnum):
    """The relations of PARTNR (PARTNR-T6); other predicates ask for a state."""

    IS_ON_TOP = "is_on_top"
    IS_INSIDE = "is_inside"
    IS_IN_ROOM = "is_in_room"
    IS_ON_FLOOR = "is_on_floor"
    IS_NEXT_TO = "is_next_to"
    IS_CLUSTERED = "is_clustered"


class JointPredicate(StrEnum):
    """Whether what opens is open or closed; not in PARTNR, so not in its formats."""

    IS_OPEN = "is_open"
    IS_CLOSED = "is_closed"


class PersonPredicate(StrEnum):
    """What was done with persons, or is so; not in PARTNR, so not in its formats.

    What was done stays so: the world notes it. `is_told` is about texts or their kinds.
    """

    IS_MET = "is_met"
    IS_TOLD = "is_told"
    IS_GUIDED = "is_guided"
    IS_FOLLOWED = "is_followed"
    IS_HANDED_OVER = "is_handed_over"
    IS_NEAR_PERSON = "is_near_person"


# The place of who was followed, wherever that was to.
ANYWHERE = "anywhere"


def predicate_named(word: str) -> str:
    """The predicate of that name: a relation, `is_open`, `is_met`, or of a state, as `is_clean`.

    Raises:
        ValueError: where there is none.
    """
    if word in set(Predicate):
        return Predicate(word)
    known = (*default_states().predicates, *JointPredicate, *PersonPredicate)
    if word not in known:
        raise ValueError(
            f"unknown predicate {word!r}; expected one of {', '.join((*Predicate, *known))}"
        )
    return word


def asked_state(predicate: str) -> tuple[str, bool] | None:
    """The state and value that a predicate asks for; None for a relation, open and closed."""
    return default_states().predicates.get(predicate)


def asked_open(predicate: str) -> bool | None:
    """Whether a predicate asks that something is open, or closed; None if for neither."""
    return predicate == JointPredicate.IS_OPEN if predicate in set(JointPredicate) else None


def asked_word(predicate: str) -> str:
    """The word for what a predicate asks of one entity, such as `clean` or `open`; "" if none."""
    if predicate == PersonPredicate.IS_MET:
        return "greeted"
    opens, asked = asked_open(predicate), asked_state(predicate)
    if opens is not None:
        return "open" if opens else "closed"
    return "" if asked is None else default_states().word(asked[0], value=asked[1])


KnownPredicate = Annotated[str, AfterValidator(predicate_named)]

_LISTS: dict[str, tuple[str, ...]] = {
    Predicate.IS_ON_TOP: ("objects", "receptacles"),
    Predicate.IS_INSIDE: ("objects", "receptacles"),
    Predicate.IS_IN_ROOM: ("objects", "rooms"),
    Predicate.IS_NEXT_TO: ("entities_a", "entities_b"),
    PersonPredicate.IS_MET: ("persons",),
    PersonPredicate.IS_TOLD: ("persons", "texts"),
    PersonPredicate.IS_GUIDED: ("persons", "places"),
    PersonPredicate.IS_FOLLOWED: ("persons", "places"),
    PersonPredicate.IS_HANDED_OVER: ("objects", "persons"),
    PersonPredicate.IS_NEAR_PERSON: ("agents", "persons"),
}


def lists_of(predicate: str) -> tuple[str, ...]:
    """The names of the lists of a predicate that is not of a cluster."""
    return _LISTS.get(predicate, ("objects",))


def is_about_person(predicate: str) -> bool:
    """Whether a predicate is about persons."""
    return predicate in set(PersonPredicate)


class GateRelation(StrEnum):
    """When a gated proposition counts, relative to its heads (PARTNR-3.3)."""

    AFTER_SATISFIED = "after_satisfied"
    AFTER_UNSATISFIED = "after_unsatisfied"
    WHILE_SATISFIED = "while_satisfied"


class DependencyMode(StrEnum):
    """Whether all heads must open the gate, as in the paper (PARTNR-D18), or any of them."""

    ALL = "all"
    ANY = "any"


class TieKind(StrEnum):
    """Whether tied arguments must be equal or pairwise different."""

    SAME = "SameArgConstraint"
    DIFFERENT = "DifferentArgConstraint"


@dataclass(frozen=True, slots=True)
class Proposition:
    """A predicate with its arguments; each list of names is a disjunction (PARTNR-3.2).

    Attributes:
        predicate: a relation, or one that asks for a state, such as `is_clean` or `is_open`.
        lists: one list for states, the floor and who is met, two for relations, any number for
            clusters.
        number: how many entities of the first list are needed.
        is_same: whether these need the same second argument.
        threshold_m: maximum horizontal distance for next to; metres.
    """

    predicate: str
    lists: tuple[tuple[str, ...], ...]
    number: int = 1
    is_same: bool = False
    threshold_m: float = NEXT_TO_M

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The name of each list in the file; for a cluster `args_N`."""
        if self.predicate is Predicate.IS_CLUSTERED:
            return tuple(f"*args_{k}" for k in range(len(self.lists)))
        return lists_of(self.predicate)


@dataclass(frozen=True, slots=True)
class Dependency:
    """`gated` propositions count only while `depends_on` allow it."""

    gated: tuple[int, ...]
    depends_on: tuple[int, ...]
    relation: GateRelation
    mode: DependencyMode = DependencyMode.ALL


@dataclass(frozen=True, slots=True)
class Tie:
    """A Same- or DifferentArgConstraint over `members`: (proposition, argument from 0)."""

    kind: TieKind
    members: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A task's evaluation function.

    Attributes:
        propositions: at least one.
        dependencies: acyclic.
        orders: the (i, j) of each TemporalConstraint: i must come true strictly before j;
            acyclic over all of them.
        ties: arguments that must be the same or different.
        terminal: the propositions that must hold at the end.
        always: those that must hold in every state.
        never: those that must hold in no state.
    """

    propositions: tuple[Proposition, ...]
    dependencies: tuple[Dependency, ...] = ()
    orders: tuple[tuple[tuple[int, int], ...], ...] = ()
    ties: tuple[Tie, ...] = ()
    terminal: frozenset[int] = frozenset()
    always: frozenset[int] = frozenset()
    never: frozenset[int] = frozenset()

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """The edges of all orders, sorted."""
        return tuple(sorted(set(itertools.chain.from_iterable(self.orders))))
