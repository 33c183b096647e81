"""Evaluations that are valid but probably not intended (PARTNR-D30 v to vii)."""

from __future__ import annotations

from collections.abc import Iterator

from planner.evaluation.progress import Progress
from planner.evaluation.task import Evaluation, GateRelation, Predicate, Proposition

# With different second arguments these cannot hold for one object at the same time.
_ONE_PLACE = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM})
_AFTER = frozenset({GateRelation.AFTER_SATISFIED, GateRelation.AFTER_UNSATISFIED})


def goal_warnings(evaluation: Evaluation, start: Progress) -> list[tuple[str, str]]:
    """The warnings, as (field, reason).

    Args:
        evaluation: a valid one.
        start: `Evaluator.progress` of the initial state, mode strict.
    """
    found = [*_lost_heads(evaluation), *_true_too_early(evaluation, start)]
    if start.success:
        found.append(("propositions", "everything is satisfied already at the start"))
    return found


def _lost_heads(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    for k, dependency in enumerate(evaluation.dependencies):
        if dependency.relation is not GateRelation.WHILE_SATISFIED:
            continue
        for head in dependency.depends_on:
            if head in evaluation.terminal:
                continue
            for gated in dependency.gated:
                if gated in evaluation.terminal:
                    reason = (
                        f"proposition {gated} has to hold at the end, while {head}, which it "
                        "needs, need not: it fails once that is undone"
                    )
                    yield f"dependencies.{k}", reason


def _true_too_early(evaluation: Evaluation, start: Progress) -> Iterator[tuple[str, str]]:
    gated = {
        index
        for dependency in evaluation.dependencies
        if dependency.relation in _AFTER
        for index in dependency.gated
    }
    later = {second for _, second in evaluation.edges}
    for j, second in enumerate(evaluation.propositions):
        if j in gated or not start.propositions[j].holds:
            continue
        for i, first in enumerate(evaluation.propositions):
            comes_later = (i, j) in evaluation.edges or (i < j and j not in later)
            if i != j and comes_later and _moves_on(first, second):
                reason = (
                    f"is true at the start, before proposition {i} about the same object; it "
                    "needs a dependency after_satisfied on that one"
                )
                yield f"propositions.{j}", reason
                break


def _moves_on(first: Proposition, second: Proposition) -> bool:
    """Whether both place the same object, but at different places."""
    if first.predicate not in _ONE_PLACE or second.predicate not in _ONE_PLACE:
        return False
    shares = bool(set(first.lists[0]) & set(second.lists[0]))
    return shares and not set(first.lists[1]) & set(second.lists[1])
