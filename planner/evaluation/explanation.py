"""Propositions and failures in words (spec/partnr.md 3.6, D-29)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.constraints import Standing
from planner.evaluation.progress import Reason
from planner.evaluation.task import Dependency, GateRelation, Predicate, Proposition

_BETWEEN = {
    Predicate.IS_ON_TOP: "on top of",
    Predicate.IS_INSIDE: "inside",
    Predicate.IS_IN_ROOM: "in",
    Predicate.IS_NEXT_TO: "next to",
}
_AFTER = {
    Predicate.IS_ON_FLOOR: "on the floor",
    Predicate.IS_CLEAN: "clean",
    Predicate.IS_DIRTY: "dirty",
    Predicate.IS_FILLED: "filled",
    Predicate.IS_EMPTY: "empty",
    Predicate.IS_POWERED_ON: "powered on",
    Predicate.IS_POWERED_OFF: "powered off",
}
_ARGUMENTS = {
    "objects": "object",
    "receptacles": "receptacle",
    "rooms": "room",
    "entities_a": "entity",
    "entities_b": "entity",
}


def phrase(proposition: Proposition) -> str:
    """A proposition in words, as in "cup_0 or cup_1 on top of table_2"."""
    first = _choice(proposition.lists[0])
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return f"{_listed([_choice(names) for names in proposition.lists], 'and')} close together"
    if proposition.number > 1:
        first = f"{proposition.number} of {_listed(proposition.lists[0], 'and')}"
    if proposition.predicate in _AFTER:
        return f"{first} {_AFTER[proposition.predicate]}"
    second = _choice(proposition.lists[1])
    if proposition.is_same and len(proposition.lists[1]) > 1 and proposition.number > 1:
        second = f"the same one of {second}"
    return f"{first} {_BETWEEN[proposition.predicate]} {second}"


def sentence(
    i: int,
    standing: Standing,
    propositions: Sequence[Proposition],
    gates: Sequence[Dependency | None],
    first_steps: Sequence[int | None],
) -> str:
    """Why a proposition does not count, by the templates of D-29; "" where it counts.

    Args:
        i: the proposition.
        standing: of this proposition.
        propositions: of the whole task.
        gates: for each proposition the dependency to name where it kept it from counting.
        first_steps: when each first counted.
    """
    this = _quoted(propositions[i])
    others = _listed([_quoted(propositions[j]) for j in standing.others], "and")
    match standing.reason:
        case None:
            return ""
        case Reason.NEVER:
            return f"{this} was never achieved."
        case Reason.GATE_CLOSED:
            return f"{this} was achieved, but not {_moment(gates[i], others)}."
        case Reason.OUT_OF_ORDER:
            if first_steps[standing.others[0]] == first_steps[i]:
                return f"{this} was done at the same time as {others}, not after it."
            return f"{this} was done before {others}."
        case Reason.NOT_TERMINAL:
            return f"{this} was achieved but no longer held at the end."
    argument = _argument(propositions[i], standing.argument)
    if standing.reason is Reason.ARG_NOT_SAME:
        return f"{this} and {others} should use the same {argument}."
    return f"{this} and {others} should use different {_plural(argument)}."


def _moment(gate: Dependency | None, heads: str) -> str:
    if gate is None or gate.relation is GateRelation.WHILE_SATISFIED:
        return f"while {heads}"
    if gate.relation is GateRelation.AFTER_SATISFIED:
        return f"after {heads}"
    return f"after {heads} was undone"


def _argument(proposition: Proposition, k: int) -> str:
    return _ARGUMENTS.get(proposition.argument_names[k], "entity")


def _plural(word: str) -> str:
    return "entities" if word == "entity" else f"{word}s"


def _quoted(proposition: Proposition) -> str:
    return f'"{phrase(proposition)}"'


def _choice(names: Sequence[str]) -> str:
    return _listed(names, "or")


def _listed(words: Sequence[str], link: str) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {link} {words[-1]}"
