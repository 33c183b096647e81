"""Which propositions are done or open, and which things and places to use for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from planner.evaluation.task import (
    Dependency,
    DependencyMode,
    GateRelation,
    Predicate,
    Tie,
    TieKind,
)
from planner.planning.expert.facts import PLACING, Facts, Goal, Subgoal, fulfils, spots_of
from planner.planning.expert.notes import Notes
from planner.world.skill import SkillName

# Which propositions of the goal are done, by belief, and which may be worked on now.

Pairs = tuple[tuple[str, str], ...]


class Progress:
    """Remembers which propositions have come true, in the goal's order.

    A proposition counts once it holds while its gates are open (PARTNR-3.3). The subgoals
    of an update may be narrower than the goal's, once ties have fixed their arguments.
    """

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.latched: set[int] = set(goal.watched)
        self.witness: dict[int, Pairs] = {}
        self.now: set[int] = set()
        # What others say is done, whatever the belief shows.
        self.told: frozenset[int] = frozenset()
        self._subgoals: tuple[Subgoal, ...] = goal.subgoals

    def carry_over(self, former: Progress) -> None:
        """Takes over what came true of a former goal, where the same pairs still suffice."""
        for index in former.latched - former.goal.watched:
            past, pairs = former.goal.subgoals[index], former.witness.get(index, ())
            for subgoal in self.goal.subgoals:
                if _covers(subgoal, past, pairs):
                    self.latched.add(subgoal.index)
                    self.witness[subgoal.index] = pairs

    def update(self, subgoals: tuple[Subgoal, ...], facts: Facts) -> bool:
        """Evaluates a new belief; True if something came true for the first time."""
        self._subgoals = subgoals
        held = {w.index for w in subgoals if facts.holds(w)}
        self.now = {i for i in held if all(self._is_open(g, held) for g in self.goal.gates_of[i])}
        new = {
            i for i in self.now - self.latched if self.goal.before[i] <= self.latched | self.told
        }
        for index in self.now & (new | self.latched):
            self.witness[index] = tuple(facts.pairs(subgoals[index]))
        self.latched |= new
        return bool(new)

    def _is_open(self, gate: Dependency, held: set[int]) -> bool:
        if gate.relation is GateRelation.WHILE_SATISFIED:
            return _heads(gate, lambda head: head in held)
        if gate.relation is GateRelation.AFTER_SATISFIED:
            return _heads(gate, lambda head: head in self.latched)
        return _heads(gate, lambda head: head in self.latched and head not in held)

    def done(self, index: int) -> bool:
        """Whether nothing is left to do for a proposition at the moment."""
        if index in self.told:
            return True
        if index not in self.latched:
            return False
        return index in self.now or index not in self.goal.terminal

    @property
    def finished(self) -> bool:
        """Whether every proposition is done."""
        return all(self.done(w.index) for w in self.goal.subgoals)

    def open_subgoals(self) -> list[Subgoal]:
        """The unfinished propositions that may come true now without violating the order."""
        return [w for w in self._subgoals if not self.done(w.index) and self._may(w.index)]

    def _may(self, index: int) -> bool:
        if not self.goal.before[index] <= self.latched | self.told:
            return False
        return all(self._gate_may(gate) for gate in self.goal.gates_of[index])

    def _gate_may(self, gate: Dependency) -> bool:
        if gate.relation is GateRelation.WHILE_SATISFIED:
            # One placement can satisfy both, so the heads may come true at the same time.
            return _heads(gate, lambda head: head in self.now or self._may(head))
        return self._is_open(gate, self.now)

    def in_the_way(self) -> list[Subgoal]:
        """Propositions that hold but must end first, for `after_unsatisfied`."""
        found: dict[int, Subgoal] = {}
        for gate in self.goal.gates:
            if gate.relation is GateRelation.AFTER_UNSATISFIED and not all(
                self.done(index) for index in gate.gated
            ):
                heads = [h for h in gate.depends_on if h in self.now and h in self.latched]
                found.update({head: self._subgoals[head] for head in heads})
        return list(found.values())

    def kept(self) -> list[Subgoal]:
        """The propositions that hold and must keep holding."""
        return [w for w in self._subgoals if w.index in self.now and w.index in self.goal.terminal]

    def untimely(self) -> list[Subgoal]:
        """The propositions that must not come true now: too early, or already over."""
        after = {
            head
            for gate in self.goal.gates
            if gate.relation is GateRelation.AFTER_UNSATISFIED
            for head in gate.depends_on
            if head in self.latched
        }
        return [
            w
            for w in self._subgoals
            if w.index in after or (w.index not in self.latched and not self._may(w.index))
        ]


def _heads(gate: Dependency, test: Callable[[int], bool]) -> bool:
    judge = all if gate.mode is DependencyMode.ALL else any
    return judge(test(head) for head in gate.depends_on)


def _covers(subgoal: Subgoal, past: Subgoal, pairs: Pairs) -> bool:
    """Whether a subgoal came true when the pairs of a former one did."""
    firsts = {first for first, _ in pairs if first in subgoal.first}
    return (
        subgoal.predicate == past.predicate
        and len(firsts) >= subgoal.number
        and all(second in ("", *subgoal.second) for _, second in pairs)
    )


Cost = Callable[[str, str], float]

# Costs are metres of walking; these penalties outweigh any walk.
_BAD = 10_000.0
_KEPT = -100_000.0
_UNKNOWN = 1_000.0
_BEGUN = -20.0


def narrowed(
    goal: Goal, progress: Progress, facts: Facts, notes: Notes, cost: Cost
) -> tuple[Subgoal, ...]:
    """Applies the choices that ties require: a common argument, or distinct ones.

    Only ties of open subgoals are resolved; a choice is kept as long as it stays feasible.
    """
    subgoals = list(goal.subgoals)
    open_now = {w.index for w in progress.open_subgoals()} | progress.latched
    for number, tie in enumerate(goal.ties):
        if not any(index in open_now for index, _ in tie.members):
            continue
        if tie.kind is TieKind.SAME:
            _same(number, tie, subgoals, progress, facts, notes, cost)
        else:
            _different(tie, subgoals, progress, facts, notes, cost)
    for subgoal in subgoals:
        # Ties are numbered from 0, subgoals without one from -1 downwards.
        if subgoal.same_second and len(subgoal.second) > 1 and subgoal.index in open_now:
            alone = Tie(TieKind.SAME, ((subgoal.index, 1),))
            _same(-1 - subgoal.index, alone, subgoals, progress, facts, notes, cost)
    return tuple(subgoals)


def _values(subgoal: Subgoal, argument: int) -> tuple[str, ...]:
    return subgoal.first if argument == 0 else subgoal.second


def _narrow(subgoal: Subgoal, argument: int, value: str) -> Subgoal:
    if argument == 1:
        return replace(subgoal, second=(value,))
    if subgoal.number > 1:
        return subgoal
    return replace(subgoal, first=(value,))


def _value_cost(
    subgoal: Subgoal, argument: int, value: str, progress: Progress, facts: Facts, cost: Cost
) -> float:
    """The cost of using a value for a subgoal; strongly negative where it is already in use."""
    witnesses = progress.witness.get(subgoal.index, ())
    if subgoal.index in progress.now or subgoal.index not in progress.goal.terminal:
        using = sum(1 for pair in witnesses if pair[argument] == value)
        if using:
            return _KEPT * using
    total = -100.0 * sum(1 for pair in facts.pairs(subgoal) if pair[argument] == value)
    if argument == 0:
        return total + (cost(value, subgoal.second[0] if subgoal.second else value))
    return total + min(cost(thing, value) for thing in subgoal.first)


def _same(
    number: int,
    tie: Tie,
    subgoals: list[Subgoal],
    progress: Progress,
    facts: Facts,
    notes: Notes,
    cost: Cost,
) -> None:
    members = [(subgoals[index], argument) for index, argument in tie.members]
    common = [v for v in _values(*members[0]) if all(v in _values(w, a) for w, a in members[1:])]
    if not common:
        return
    if all(argument == 0 for _, argument in members) and not any(facts.known(v) for v in common):
        return

    def cost_of(value: str) -> tuple[float, int]:
        total = sum(_value_cost(w, a, value, progress, facts, cost) for w, a in members)
        total += sum(_failure_cost(w, a, value, notes) for w, a in members)
        total += sum(_clash(_narrow(w, a, value), subgoals, facts) for w, a in members)
        sticky = -5.0 if notes.value.get(number) == value else 0.0
        return (total + sticky, common.index(value))

    best = min(common, key=cost_of)
    notes.value[number] = best
    for subgoal, argument in members:
        subgoals[subgoal.index] = _narrow(subgoals[subgoal.index], argument, best)


def _failure_cost(subgoal: Subgoal, argument: int, value: str, notes: Notes) -> float:
    """The penalty of a value because of earlier failures with it; negative if it is in work."""
    if argument == 0:
        begun = _BEGUN if notes.has_begun(value) else 0.0
        return _BAD if notes.unusable(value, SkillName.PICK) else begun
    bad = {(thing, spot) for _, thing, spot in notes.bad_spots if spot[1] == value}
    spoilt = {thing for thing, spot in bad if notes.is_bad_spot(thing, spot)}
    return _BAD * len(spoilt & set(subgoal.first))


def excludes(one: Subgoal, other: Subgoal, facts: Facts) -> bool:
    """Whether no spot fulfils both of two placement subgoals."""
    meets = any(fulfils(spot, other, facts) for spot in spots_of(one, facts))
    return not meets and not any(fulfils(spot, one, facts) for spot in spots_of(other, facts))


def _clash(narrow: Subgoal, subgoals: list[Subgoal], facts: Facts) -> float:
    """The cost if no spot of a narrowed subgoal also fulfils another subgoal of the same thing."""
    if narrow.predicate not in PLACING:
        return 0.0
    cost = 0.0
    for other in subgoals:
        if other.index == narrow.index or other.predicate not in PLACING:
            continue
        if other.first != narrow.first or len(other.first) > 1:
            continue
        cost += _BAD if excludes(narrow, other, facts) else 0.0
    return cost


def _different(
    tie: Tie, subgoals: list[Subgoal], progress: Progress, facts: Facts, notes: Notes, cost: Cost
) -> None:
    members = [(subgoals[index], argument) for index, argument in tie.members]
    costs = [
        {
            v: _value_cost(w, a, v, progress, facts, cost) + _failure_cost(w, a, v, notes)
            for v in _values(w, a)
        }
        for w, a in members
    ]
    chosen = _representatives(costs)
    if chosen is None:
        return
    for (subgoal, argument), value in zip(members, chosen, strict=True):
        subgoals[subgoal.index] = _narrow(subgoals[subgoal.index], argument, value)


def _representatives(costs: Sequence[dict[str, float]]) -> list[str] | None:
    """Assigns a distinct value to each, the cheapest first; None if there are too few values.

    Augmenting paths are used only when no value is left free, so an earlier assignment changes
    as late as possible.
    """
    owner: dict[str, int] = {}

    def place(member: int, tried: set[str]) -> bool:
        values = sorted(costs[member], key=lambda v: (costs[member][v], v))
        free = [value for value in values if value not in owner]
        if free and costs[member][free[0]] < _BAD:
            owner[free[0]] = member
            return True
        for value in values:
            if value in owner and value not in tried:
                tried.add(value)
                if place(owner[value], tried):
                    owner[value] = member
                    return True
        if free:
            owner[free[0]] = member
        return bool(free)

    order = sorted(range(len(costs)), key=lambda m: min(costs[m].values()))
    if not all(place(member, set()) for member in order):
        return None
    chosen = {member: value for value, member in owner.items()}
    return [chosen[member] for member in range(len(costs))]


def things_for(
    subgoal: Subgoal,
    facts: Facts,
    progress: Progress,
    notes: Notes,
    cost: Cost,
    taken: Set[str] = frozenset(),
) -> tuple[list[str], list[str]]:
    """The things of a subgoal that can be worked on, and those that must be found first.

    `taken` are those that other subgoals need elsewhere, used only if there are no others.
    """
    serving = {a for a, _ in facts.pairs(subgoal)}
    lacking = subgoal.number - len(serving)
    if lacking <= 0:
        return [], []
    left = [name for name in subgoal.first if name not in serving]
    known = [name for name in left if facts.known(name) and name not in notes.gone]
    unknown = [name for name in left if name not in known]
    spoken_for = _promised(subgoal, progress) | taken

    def cost_of(name: str) -> tuple[float, int]:
        target = subgoal.second[0] if subgoal.second else name
        spoilt = _BAD * notes.unusable(name, SkillName.PICK, SkillName.NAVIGATE)
        held = -50.0 if facts.holder(name) is not None else 0.0
        begun = _BEGUN if notes.has_begun(name) else 0.0
        return (
            cost(name, target) + spoilt + held + begun + _UNKNOWN * (name in spoken_for),
            subgoal.first.index(name),
        )

    chosen = sorted(known, key=cost_of)[:lacking]
    if unknown:
        chosen = [name for name in chosen if name not in taken]
    return chosen, unknown if len(chosen) < lacking else []


def _promised(subgoal: Subgoal, progress: Progress) -> set[str]:
    """Things that another subgoal needs, and that would have to be moved back for it."""
    found: set[str] = set()
    for other in progress.goal.subgoals:
        if other.index == subgoal.index or other.predicate is Predicate.IS_NEXT_TO:
            continue
        forced = len(other.first) == other.number
        if (
            forced
            and other.state is None
            and subgoal.state is None
            and other.second != subgoal.second
        ):
            found.update(other.first)
    return found
