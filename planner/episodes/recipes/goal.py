"""Converts a recipe's goal lines to PARTNR's evaluation record (PARTNR-D7).

What the lines leave open follows PARTNR-D34: nearness counts while the things are at their
destinations, a thing's second move counts after its first, and what a later step undoes need not
hold at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from planner.episodes.recipes.file import GoalSpec, Recipe, is_unary
from planner.evaluation.task import Predicate, asked_open
from planner.world.states import default_states

PLACING = frozenset(
    {Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR}
)
# The names of the two arguments and of the flag that ties the second one (PARTNR-3.2).
_ARGUMENTS: dict[str, tuple[str, str, str]] = {
    Predicate.IS_ON_TOP: ("objects", "receptacles", "is_same_receptacle"),
    Predicate.IS_INSIDE: ("objects", "receptacles", "is_same_receptacle"),
    Predicate.IS_IN_ROOM: ("objects", "rooms", "is_same_room"),
    Predicate.IS_NEXT_TO: ("entities_a", "entities_b", "is_same_b"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """One proposition before it is written to the record.

    Attributes:
        step: the step that it belongs to, or None if any order is allowed.
        names: the first argument.
        at: the second argument, empty for states and the floor.
        number: how many of the names are needed.
        spec: the line of the recipe that it comes from.
    """

    step: int | None
    names: tuple[str, ...]
    at: tuple[str, ...]
    number: int
    spec: GoalSpec

    @property
    def predicate(self) -> str:
        """The predicate."""
        return self.spec.predicate

    @property
    def entities(self) -> frozenset[str]:
        """All entities in the proposition."""
        return frozenset(self.names) | frozenset(self.at)


def targets(recipe: Recipe, names: Mapping[str, Sequence[str]]) -> tuple[Target, ...]:
    """The propositions of a recipe in order.

    Args:
        recipe: the recipe.
        names: the entities of the house for every label.
    """
    found: list[Target] = []
    for step, spec in recipe.specs():
        first = tuple(dict.fromkeys(name for label in spec.things for name in names[label]))
        second = tuple(dict.fromkeys(name for label in spec.at for name in names[label]))
        if spec.number is not None:
            found.append(Target(step, first, second, spec.number, spec))
            continue
        for one in first:
            others = tuple(name for name in second if name != one)
            target = Target(step, (one,), others, 1, spec)
            # Of two things next to each other, one proposition is enough.
            if not any(_says_same(target, other) for other in found):
                found.append(target)
    return tuple(found)


def _says_same(one: Target, other: Target) -> bool:
    return (
        one.predicate is Predicate.IS_NEXT_TO
        and other.spec is one.spec
        and len(one.at) == len(other.at) == 1
        and one.entities == other.entities
    )


def evaluation_of(found: Sequence[Target], starts: Mapping[str, str]) -> dict[str, JsonValue]:
    """The evaluation record.

    Args:
        found: the propositions.
        starts: for every thing the furniture or floor that it starts on or in.
    """
    return {
        "propositions": [_proposition(target) for target in found],
        "dependencies": dependencies(found, starts),
        "constraints": [*order(found), *_ties(found), terminal(found)],
    }


def dependencies(found: Sequence[Target], starts: Mapping[str, str]) -> list[JsonValue]:
    """What annotations leave out (PARTNR-D34); arguments as of `evaluation_of`."""
    return [*_neighbours(found), *_later_steps(found, starts)]


def task_types(found: Sequence[Target]) -> tuple[str, ...]:
    """PARTNR's types, which follow from the evaluation alone (PARTNR-D5)."""
    types = []
    if any(target.predicate is Predicate.IS_NEXT_TO for target in found):
        types.append("spatial")
    if edges(found):
        types.append("temporal")
    if any(target.predicate in default_states().predicates for target in found):
        types.append("heterogeneous")
    return tuple(types) or ("constraint_free",)


def edges(found: Sequence[Target]) -> list[tuple[int, int]]:
    """Everything in a step before the next (PARTNR-D21)."""
    steps: dict[int, list[int]] = {}
    for index, target in enumerate(found):
        if target.step is not None:
            steps.setdefault(target.step, []).append(index)
    ordered = [steps[step] for step in sorted(steps)]
    return [(i, j) for group, after in pairwise(ordered) for i in group for j in after]


def _proposition(target: Target) -> JsonValue:
    if is_unary(target.predicate):
        return {
            "function_name": str(target.predicate),
            "args": {"objects": list(target.names), "number": target.number},
        }
    first, second, same = _ARGUMENTS[target.predicate]
    args: dict[str, JsonValue] = {
        first: list(target.names),
        "number": target.number,
        second: list(target.at),
    }
    if target.number > 1 and target.spec.same_place:
        args[same] = True
    return {"function_name": str(target.predicate), "args": args}


def _neighbours(found: Sequence[Target]) -> Iterator[JsonValue]:
    """Next to each other at their destinations, not on the way there (PARTNR-D34 a)."""
    for index, target in enumerate(found):
        if target.predicate is Predicate.IS_NEXT_TO:
            heads = _placed_with(target, found)
            if heads:
                yield _dependency(index, heads, "while_satisfied")


def _placed_with(target: Target, found: Sequence[Target]) -> list[int]:
    """The placements, in the same step, of the things that a relation is about."""
    return [
        at
        for at, other in enumerate(found)
        if other.step == target.step
        and other.predicate in PLACING
        and target.entities & set(other.names)
    ]


def _later_steps(found: Sequence[Target], starts: Mapping[str, str]) -> Iterator[JsonValue]:
    """Gates for propositions that may hold before their step: they count after earlier steps.

    PARTNR-D34 b, PARTNR-E6 and PARTNR-E7.
    """
    for index, target in enumerate(found):
        if not target.step or not _may_hold_early(target, found, starts):
            continue
        heads = [
            at
            for at, other in enumerate(found)
            if other.step is not None and other.step < target.step
        ]
        yield _dependency(index, heads, "after_satisfied")


def _may_hold_early(target: Target, found: Sequence[Target], starts: Mapping[str, str]) -> bool:
    """Whether a proposition may hold before its step, at the start or in passing."""
    if target.predicate is Predicate.IS_IN_ROOM or _placed_before(target, found):
        return True
    if asked_open(target.predicate) is not None:
        return True
    if target.predicate is Predicate.IS_NEXT_TO:
        return not _placed_with(target, found)
    if target.predicate is Predicate.IS_ON_FLOOR:
        return any(starts.get(name, "").startswith("floor_") for name in target.names)
    if target.predicate in default_states().predicates:
        return any(_contrary(target, other) for other in found)
    return any(starts.get(name) in target.at for name in target.names)


def _placed_before(target: Target, found: Sequence[Target]) -> bool:
    """Whether an earlier step also places the same thing."""
    return target.predicate in PLACING and any(
        other.predicate in PLACING
        and (other.step or 0) < (target.step or 0)
        and set(other.names) & set(target.names)
        for other in found
    )


def _dependency(index: int, heads: Sequence[int], relation: str) -> JsonValue:
    return {
        "proposition_indices": [index],
        "depends_on": list(heads),
        "relation_type": relation,
    }


def order(found: Sequence[Target]) -> list[JsonValue]:
    """The constraint of the steps; none if there is no order."""
    found_edges: list[JsonValue] = [[i, j] for i, j in edges(found)]
    return [{"type": "TemporalConstraint", "edges": found_edges}] if found_edges else []


def _ties(found: Sequence[Target]) -> Iterator[JsonValue]:
    for kind, field in (
        ("SameArgConstraint", "same_place"),
        ("DifferentArgConstraint", "other_place"),
        ("SameArgConstraint", "same_thing"),
    ):
        groups: dict[str, list[int]] = {}
        for index, target in enumerate(found):
            word = getattr(target.spec, field)
            if word is not None:
                groups.setdefault(word, []).append(index)
        for members in groups.values():
            if len(members) > 1:
                # For shared places, a state's only argument is the place.
                second = [int(field != "same_thing" and bool(found[i].at)) for i in members]
                yield {
                    "type": kind,
                    "proposition_indices": list(members),
                    "arg_indices": list(second),
                }


def terminal(found: Sequence[Target]) -> JsonValue:
    """The constraint of what must hold at the end: what no later step undoes."""
    lasting: list[JsonValue] = [
        index
        for index, target in enumerate(found)
        if target.spec.lasts and not any(_undoes(later, target) for later in found)
    ]
    return {"type": "TerminalSatisfactionConstraint", "proposition_indices": lasting}


def _undoes(later: Target, earlier: Target) -> bool:
    """Whether a later step moves a thing, or its neighbour, away, or changes it back."""
    if earlier.step is None or later.step is None or later.step <= earlier.step:
        return False
    if earlier.predicate in default_states().predicates:
        return _contrary(later, earlier)
    moved = later.predicate in PLACING and later.predicate is not earlier.predicate
    moved |= later.predicate in PLACING and later.at != earlier.at
    return moved and bool(earlier.entities & set(later.names))


def _contrary(one: Target, other: Target) -> bool:
    if (
        one.predicate not in default_states().predicates
        or other.predicate not in default_states().predicates
    ):
        return False
    state, value = default_states().predicates[one.predicate]
    other_state, other_value = default_states().predicates[other.predicate]
    return (
        state is other_state
        and value is not other_value
        and bool(set(one.names) & set(other.names))
    )
