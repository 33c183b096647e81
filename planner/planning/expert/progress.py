"""Which propositions of the goal are done, by belief, and which may be worked on now."""

from __future__ import annotations

from collections.abc import Callable

from planner.evaluation.task import Dependency, DependencyMode, GateRelation
from planner.planning.expert.facts import Facts
from planner.planning.goal import Goal, Subgoal

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
