"""Our judge of the published rules on worlds of atoms, in which no geometry stands behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from published_cases import Atom, Document

from papers.partnr.published_judge import PublishedError, PublishedJudge
from planner.evaluation import predicates
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Predicate
from planner.world.states import default_states


@contextmanager
def atoms_as_geometry() -> Iterator[None]:
    """While it lasts, watches look into sets of atoms instead of scenes."""

    def second_of(predicate: Predicate):
        return lambda world, name: frozenset(
            atom[2] for atom in world if atom[:2] == (predicate.value, name)
        )

    def relation(predicate: Predicate):
        return lambda world, a, b: (predicate.value, a, b) in world

    def has_state(world, predicate, name):
        state, wanted = default_states().predicates[predicate]
        return ((state, name) in world) is wanted

    def next_to(world, a, b, _threshold_m):
        return (Predicate.IS_NEXT_TO.value, *sorted((a, b))) in world

    with patch.multiple(
        predicates,
        on_top_of=second_of(Predicate.IS_ON_TOP),
        is_inside=relation(Predicate.IS_INSIDE),
        is_in_room=relation(Predicate.IS_IN_ROOM),
        is_next_to=next_to,
        is_on_floor=lambda world, name: ("floor", name) in world,
        has_state=has_state,
    ):
        yield


def judged(
    document: Document, worlds: Sequence[frozenset[Atom]]
) -> tuple[list[tuple[bool, ...]], tuple[int, ...], str]:
    """Which propositions count after each step until an error, the first steps, and the error."""
    judge = PublishedJudge(read_evaluation(document, "case"))
    watches = [judge.watch(p, worlds[0]) for p in judge.propositions]
    counted, error = [], ""
    for step, world in enumerate(worlds):
        for watch in watches:
            watch.refresh(world, watch.names)
        judge.advance(step, watches)
        try:
            counted.append(tuple(s.reason is None for s in judge.statuses(watches)))
        except PublishedError as failure:
            error = str(failure)
            break
    return counted, tuple(-1 if f is None else f for f in judge.first_steps), error
