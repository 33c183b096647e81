"""Reading what a model answered: one skill call before the word that ends a turn.

A model's text is data. It is searched for one call of the known form, and the call is checked
against what the agent can do and knows; nothing else of it is ever used.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from planner.world.belief import Belief
from planner.world.skill import (
    ARGUMENT_ROLES,
    CallError,
    Role,
    SkillCall,
    SkillCode,
    parse_call,
)
from planner.world.vocabulary import EntityKind, Relation

END_OF_TURN = "Assigned!"
# Longer answers are not searched: no call stands behind so much text.
MOST_CHARACTERS = 20_000
_CALL_LINE = re.compile(r"[A-Za-z]+\s*\[[^\[\]\n]*\]")
_KINDS = {
    Role.OBJECT: {EntityKind.OBJECT},
    Role.FURNITURE: {EntityKind.FURNITURE},
    Role.ROOM: {EntityKind.ROOM},
    Role.OBJECT_OR_FURNITURE: {EntityKind.OBJECT, EntityKind.FURNITURE},
    Role.TARGET: {EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM},
    Role.REFERENCE: {EntityKind.OBJECT, EntityKind.FURNITURE},
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says.

    Attributes:
        call: the call.
        spoken: the reply up to the call, as it goes on in the dialogue.
        ended: whether the reply ended its turn with `Assigned!`.
    """

    call: SkillCall
    spoken: str
    ended: bool


def read_reply(text: str) -> Reply:
    """Finds the call: the last line of that form before the first `Assigned!`.

    Raises:
        CallError: where there is none, or it is not a call.
    """
    if len(text) > MOST_CHARACTERS:
        raise CallError(SkillCode.UNPARSABLE, f"the reply has {len(text)} characters")
    before, ended, _ = text.partition(END_OF_TURN)
    found = _CALL_LINE.findall(before)
    if not found:
        raise CallError(SkillCode.UNPARSABLE, "the reply has no call of the form Skill[arguments]")
    return Reply(parse_call(found[-1]), before.strip(), bool(ended))


def check_call(call: SkillCall, belief: Belief, verbs: Collection[str]) -> None:
    """Checks a call against the agent's skills and what is known (spec/epm.md 2.5).

    Raises:
        CallError: naming what does not fit.
    """
    if call.name.value not in verbs:
        raise CallError(SkillCode.NOT_ABLE, f"{call.name.value} is not one of the possible actions")
    roles = ARGUMENT_ROLES[call.name]
    for role, word in zip(roles, call.arguments, strict=True):
        if role is Role.RELATION:
            if word not in (Relation.ON.value, Relation.WITHIN.value):
                raise CallError(SkillCode.WRONG_ARGUMENTS, f"{word} is neither on nor within")
        elif role is Role.CONSTRAINT:
            if word not in ("next_to", None):
                raise CallError(SkillCode.WRONG_ARGUMENTS, f"{word} is neither next_to nor None")
        elif role is not Role.TEXT:
            _check_entity(word, role, belief)
    if Role.REFERENCE in roles:
        _check_reference(call, belief)


def _check_entity(word: str | None, role: Role, belief: Belief) -> None:
    if word is None:
        if role is Role.REFERENCE:
            return
        raise CallError(SkillCode.WRONG_ARGUMENTS, f"None is no {role.value}")
    node = belief.find(word)
    if node is None:
        raise CallError(SkillCode.UNKNOWN_ENTITY, f"there is no {word} in the memory")
    if node.kind not in _KINDS[role]:
        raise CallError(SkillCode.WRONG_ROLE, f"{word} is a {node.kind.value}, not {role.value}")


def _check_reference(call: SkillCall, belief: Belief) -> None:
    _, _, furniture, constraint, reference = call.arguments
    if (constraint is None) is not (reference is None):
        raise CallError(SkillCode.WRONG_ARGUMENTS, "next_to and its reference go together")
    node = belief.find(reference) if reference is not None else None
    place = belief.find(furniture) if furniture is not None else None
    if node is None or place is None or node.kind is not EntityKind.OBJECT:
        return
    if node.parent != place.name:
        raise CallError(SkillCode.REFERENCE_ELSEWHERE, f"{reference} is not on {furniture}")
