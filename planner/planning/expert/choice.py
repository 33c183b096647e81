"""Picks one of the things and places that a goal allows: ties first, then the nearest."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from planner.evaluation.task import Predicate, Tie, TieKind
from planner.planning.expert.facts import Facts, fulfils, spots_of
from planner.planning.expert.notes import Notes
from planner.planning.expert.progress import Progress
from planner.planning.goal import PLACING, Goal, Subgoal
from planner.world.skill import SkillName

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
