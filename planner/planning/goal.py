"""The structured goal of a task, for planners that read it instead of the instruction.

`planner.evaluation.language` defines the format; how a goal is judged is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pydantic import JsonValue

from planner.evaluation.language import read_evaluation
from planner.evaluation.task import (
    Dependency,
    Evaluation,
    Predicate,
    Proposition,
    Tie,
    asked_open,
    asked_state,
)

PLACING = frozenset(
    {Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR}
)


@dataclass(frozen=True, slots=True)
class Subgoal:
    """One proposition: `number` of `first` must have the relation to one of `second`.

    Attributes:
        first: candidate entities; for `is_clustered` the members of all lists.
        second: candidate furniture, rooms or neighbours; empty for unary predicates.
        same_second: whether all need the same one of `second`.
        within_m: maximum horizontal gap of neighbours, metres.
        lists: for `is_clustered`: one entity of each list takes part.
    """

    index: int
    predicate: str
    first: tuple[str, ...]
    second: tuple[str, ...] = ()
    number: int = 1
    same_second: bool = False
    within_m: float = 0.5
    lists: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        words = [" or ".join(self.first)] + ([" or ".join(self.second)] if self.second else [])
        return f"{self.predicate}({', '.join(words)})"

    @property
    def state(self) -> tuple[str, bool] | None:
        """The state and value that a state predicate requires."""
        return asked_state(self.predicate)

    @property
    def opens(self) -> bool | None:
        """Whether things have to be open, or closed; None if neither is asked."""
        return asked_open(self.predicate)


@dataclass(frozen=True)
class Goal:
    """All subgoals of a task.

    Attributes:
        before: for each subgoal those that must be achieved before it.
        watched: subgoals that are only judged: what must stay, or never become, true.
    """

    subgoals: tuple[Subgoal, ...]
    before: Mapping[int, frozenset[int]]
    gates: tuple[Dependency, ...]
    ties: tuple[Tie, ...]
    terminal: frozenset[int]
    watched: frozenset[int] = frozenset()

    @cached_property
    def gates_of(self) -> dict[int, tuple[Dependency, ...]]:
        """The dependencies that gate each subgoal."""
        return {w.index: tuple(g for g in self.gates if w.index in g.gated) for w in self.subgoals}

    @cached_property
    def names(self) -> frozenset[str]:
        """Every entity in the goal."""
        return frozenset(n for w in self.subgoals for n in (*w.first, *w.second))


def read_goal(document: Mapping[str, JsonValue]) -> Goal:
    """Reads the evaluation of an episode (PARTNR-D7).

    Raises:
        FileError: naming the field and the reason.
    """
    return goal_of(read_evaluation(dict(document), "the task's goal"))


def goal_of(evaluation: Evaluation) -> Goal:
    """The goal of an evaluation."""
    count = len(evaluation.propositions)
    watched = evaluation.always | evaluation.never
    before: dict[int, set[int]] = {index: set() for index in range(count)}
    for earlier, later in evaluation.edges:
        before[later].add(earlier)
    return Goal(
        subgoals=tuple(_subgoal(i, p) for i, p in enumerate(evaluation.propositions)),
        before={index: frozenset(earlier) for index, earlier in before.items()},
        gates=evaluation.dependencies,
        ties=evaluation.ties,
        terminal=evaluation.terminal - watched,
        watched=watched,
    )


def _subgoal(index: int, p: Proposition) -> Subgoal:
    if p.predicate is Predicate.IS_CLUSTERED:
        members = tuple(dict.fromkeys(name for names in p.lists for name in names))
        return Subgoal(
            index, p.predicate, members, number=len(p.lists), within_m=p.threshold_m, lists=p.lists
        )
    second = p.lists[1] if len(p.lists) > 1 else ()
    return Subgoal(index, p.predicate, p.lists[0], second, p.number, p.is_same, p.threshold_m)
