"""Propositions and failures as text (PARTNR-3.6, PARTNR-D29)."""

from __future__ import annotations

from collections.abc import Sequence

from planner.evaluation.constraints import PropositionStatus
from planner.evaluation.progress import Reason
from planner.evaluation.task import (
    NEXT_TO_M,
    Dependency,
    DependencyMode,
    GateRelation,
    Predicate,
    Proposition,
    asked_word,
)

_BETWEEN: dict[str, str] = {
    Predicate.IS_ON_TOP: "on top of",
    Predicate.IS_INSIDE: "inside",
    Predicate.IS_IN_ROOM: "in",
    Predicate.IS_NEXT_TO: "next to",
}
_ARGUMENTS = {
    "objects": "object",
    "receptacles": "receptacle",
    "rooms": "room",
    "entities_a": "entity",
    "entities_b": "entity",
}


def phrase(proposition: Proposition) -> str:
    """A proposition as text, such as "cup_0 or cup_1 on top of table_2"."""
    first = _choice(proposition.lists[0])
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return f"{_listed([_choice(names) for names in proposition.lists], 'and')} close together"
    if proposition.number > 1:
        first = f"{proposition.number} of {_listed(proposition.lists[0], 'and')}"
    if proposition.predicate is Predicate.IS_ON_FLOOR:
        return f"{first} on the floor"
    word = asked_word(proposition.predicate)
    if word:
        return f"{first} {word}"
    second = _choice(proposition.lists[1])
    if proposition.is_same and len(proposition.lists[1]) > 1 and proposition.number > 1:
        second = f"the same one of {second}"
    near = ""
    if proposition.predicate is Predicate.IS_NEXT_TO and proposition.threshold_m != NEXT_TO_M:
        near = f" (within {proposition.threshold_m:g} m)"
    return f"{first} {_BETWEEN[proposition.predicate]} {second}{near}"


def sentence(
    i: int,
    status: PropositionStatus,
    propositions: Sequence[Proposition],
    first_steps: Sequence[int | None],
    serving: frozenset[str],
) -> str:
    """Why a proposition does not count, by the templates of PARTNR-D29; "" if it counts.

    Args:
        i: index of the proposition.
        status: of this proposition.
        propositions: of the whole task.
        first_steps: when each first counted.
        serving: the entities of its first list for which it is true now.
    """
    this = _quoted(propositions[i])
    gate = status.gate
    link = "or" if gate is not None and gate.mode is DependencyMode.ANY else "and"
    others = _listed([_quoted(propositions[j]) for j in status.others], link)
    match status.reason:
        case None:
            return ""
        case Reason.NEVER:
            return f"{this} was never achieved{_so_far(propositions[i], serving)}."
        case Reason.GATE_CLOSED:
            return f"{this} was achieved, but not {_moment(gate, others)}."
        case Reason.OUT_OF_ORDER:
            if first_steps[status.others[0]] == first_steps[i]:
                return f"{this} was done at the same time as {others}, not after it."
            return f"{this} was done before {others}."
        case Reason.NOT_TERMINAL if gate is not None:
            return f"{this} was achieved, but at the end not {_moment(gate, others)}."
        case Reason.NOT_TERMINAL:
            so_far = _so_far(propositions[i], serving)
            return f"{this} was achieved but no longer held at the end{so_far}."
        case Reason.NOT_ALWAYS:
            return f"{this} did not hold all the time."
        case Reason.FORBIDDEN:
            return f"{this} must never hold."
    argument = _argument(propositions[i], status.argument)
    own, other = status.used
    if status.reason is Reason.ARG_NOT_SAME:
        different = f", not {_choice(sorted(own))} and {_choice(sorted(other))}" if own else ""
        return f"{this} and {others} should use the same {argument}{different}."
    both = f", not both {_choice(sorted(own & other))}" if own & other else ""
    return f"{this} and {others} should use different {_plural(argument)}{both}."


def _so_far(proposition: Proposition, serving: frozenset[str]) -> str:
    """If several entities are needed, those for which the proposition is true."""
    if proposition.number < 2 or proposition.is_same:
        return ""
    if not serving:
        return ": none is"
    return f": only {_listed(sorted(serving), 'and')} {'is' if len(serving) == 1 else 'are'}"


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
