"""When propositions first came true and what their gates let through: the latches of a run.

    raw(t)   the proposition's truth in the state at t
    gate(t)  the conjunction of the dependencies that list it (PARTNR-D18, PARTNR-D19)
    eff(t)   raw(t) and gate(t);   s = min{t : eff(t)}

`t` is the simulation step. Only the latches are kept, so the cost of a step does not depend on the
length of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planner.evaluation.cycles import in_order
from planner.evaluation.propositions import Watch
from planner.evaluation.task import Dependency, DependencyMode, Evaluation, GateRelation


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
