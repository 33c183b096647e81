"""What a person says who looks at the result: "done", or what is not as wanted (HELPER-D83)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.evaluation.task import Predicate, Proposition, asked_open, asked_word
from planner.language.plurals import plural_of

DONE = "done"
_RELATIONS: Mapping[str, tuple[str, str, str]] = {
    Predicate.IS_ON_TOP: ("put", "on", "on"),
    Predicate.IS_INSIDE: ("put", "into", "in"),
    Predicate.IS_IN_ROOM: ("bring", "into", "in"),
    Predicate.IS_NEXT_TO: ("put", "next to", "next to"),
}


def feedback(propositions: Sequence[Proposition], satisfied: Sequence[bool]) -> str:
    """Says "done" if everything counts, else one sentence for each proposition that does not.

    Args:
        propositions: of the task.
        satisfied: for each, whether it counts if the episode ends now.

    Raises:
        ValueError: if their numbers differ.
    """
    unmet = [p for p, met in zip(propositions, satisfied, strict=True) if not met]
    return " ".join(map(complaint, unmet)) or DONE


def complaint(proposition: Proposition) -> str:
    """The subtask that failed, the thing, and its wanted state, by the names of classes."""
    things = [_class_word(name) for name in proposition.lists[0]]
    subtask, state = _subtask_and_state(proposition)
    thing = _choice(things)
    return f'The subtask "{subtask}" failed: the {thing} should be {state}.'


def _subtask_and_state(proposition: Proposition) -> tuple[str, str]:
    words = [_class_word(name) for name in proposition.lists[0]]
    things = f"the {_choice(words)}"
    if proposition.number > 1:
        things = f"{proposition.number} of the {_choice([plural_of(word) for word in words])}"
    word = asked_word(proposition.predicate)
    if word:
        verb = "get" if asked_open(proposition.predicate) is not None else "make"
        return f"{verb} {things} {word}", word
    if proposition.predicate is Predicate.IS_ON_FLOOR:
        return f"put {things} on the floor", "on the floor"
    if proposition.predicate is Predicate.IS_CLUSTERED:
        others = [_choice([_class_word(n) for n in names]) for names in proposition.lists[1:]]
        return f"put {things} and the {' and the '.join(others)} together", "close to the others"
    verb, into, where = _RELATIONS[proposition.predicate]
    place = f"the {_choice([_class_word(name) for name in proposition.lists[1]])}"
    return f"{verb} {things} {into} {place}", f"{where} {place}"


def _class_word(name: str) -> str:
    """The class of an entity as people say it: they do not know its number."""
    head, _, number = name.rpartition("_")
    return (head if number.isdigit() else name).removeprefix("floor_").replace("_", " ")


def _choice(words: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(words))
