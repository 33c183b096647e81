"""An evaluation as annotators and models write it: without dependencies (PARTNR-4.4, PARTNR-4.5).

The rest follows from the propositions, their order and the initial positions (PARTNR-D34).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from planner.episodes.recipes.file import GoalSpec, is_unary
from planner.episodes.recipes.goal import Target, dependencies, order, terminal
from planner.evaluation.task import NEXT_TO_M, Evaluation, Predicate, Proposition, Tie, asked_open
from planner.world.errors import PlannerError

# The flag that ties the second argument, by predicate (PARTNR-3.2).
_SAME = {
    Predicate.IS_ON_TOP: "is_same_receptacle",
    Predicate.IS_INSIDE: "is_same_receptacle",
    Predicate.IS_IN_ROOM: "is_same_room",
    Predicate.IS_NEXT_TO: "is_same_b",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """Propositions, order and ties.

    Attributes:
        groups: indices of propositions, each group before the next; what is in none has no order.
        excluded: what need not hold at the end; None: what a later group undoes.
    """

    propositions: tuple[Proposition, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    ties: tuple[Tie, ...] = ()
    excluded: tuple[int, ...] | None = None

    def evaluation(self, starts: Mapping[str, str]) -> dict[str, JsonValue]:
        """The evaluation record.

        Args:
            starts: for every thing the furniture or floor that it starts on or in.
        """
        steps = {i: step for step, group in enumerate(self.groups) for i in group}
        ordered = len(self.groups) > 1
        found = [
            _target(item, steps.get(i) if ordered else None)
            for i, item in enumerate(self.propositions)
        ]
        lasting = terminal(found)
        if self.excluded is not None:
            kept = [i for i in range(len(found)) if i not in self.excluded]
            lasting = {"type": "TerminalSatisfactionConstraint", "proposition_indices": [*kept]}
        return {
            "propositions": [proposition_json(item) for item in self.propositions],
            "dependencies": dependencies(found, starts),
            "constraints": [*order(found), *(_tie_json(tie) for tie in self.ties), lasting],
        }


def draft_of(evaluation: Evaluation) -> Draft:
    """The part of an evaluation that annotators write.

    Raises:
        PlannerError: if its order is not one of groups, each before the next, or something must
            hold in every state or in none.
    """
    if evaluation.always or evaluation.never:
        raise PlannerError("what must hold in every state, or in none, is not in PARTNR's format")
    if any(asked_open(p.predicate) is not None for p in evaluation.propositions):
        raise PlannerError("whether something is open is not in PARTNR's format")
    everything = range(len(evaluation.propositions))
    return Draft(
        evaluation.propositions,
        _groups(evaluation.edges),
        evaluation.ties,
        tuple(i for i in everything if i not in evaluation.terminal),
    )


def proposition_json(item: Proposition) -> dict[str, JsonValue]:
    """A proposition as an episode has it."""
    if item.predicate is Predicate.IS_CLUSTERED:
        entities: list[JsonValue] = [list(names) for names in item.lists]
        return {"function_name": str(item.predicate), "args": {"entities": entities}}
    args: dict[str, JsonValue] = {
        name: list(names) for name, names in zip(item.argument_names, item.lists, strict=True)
    }
    args["number"] = item.number
    if item.is_same:
        args[_SAME[Predicate(item.predicate)]] = True
    if item.predicate is Predicate.IS_NEXT_TO and item.threshold_m != NEXT_TO_M:
        args["l2_threshold"] = item.threshold_m
    return {"function_name": str(item.predicate), "args": args}


def _target(item: Proposition, step: int | None) -> Target:
    names = item.lists[0]
    at = () if is_unary(item.predicate) else tuple(n for part in item.lists[1:] for n in part)
    known = Predicate.IS_NEXT_TO if item.predicate is Predicate.IS_CLUSTERED else item.predicate
    spec = GoalSpec(predicate=known, things=("things",), at=("places",) if at else ())
    return Target(step, names, at, item.number, spec)


def _tie_json(tie: Tie) -> JsonValue:
    return {
        "type": tie.kind.value,
        "proposition_indices": [i for i, _ in tie.members],
        "arg_indices": [k for _, k in tie.members],
    }


def _groups(edges: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The groups whose adjacent pairs are exactly these edges (PARTNR-D21)."""
    level = {i: 0 for edge in edges for i in edge}
    for _ in level:
        for i, j in edges:
            level[j] = max(level[j], level[i] + 1)
    count = max(level.values(), default=-1) + 1
    groups = tuple(tuple(sorted(i for i in level if level[i] == k)) for k in range(count))
    if {(i, j) for one, other in pairwise(groups) for i in one for j in other} != set(edges):
        raise PlannerError("the order of its propositions is not one of groups, one after another")
    return groups
