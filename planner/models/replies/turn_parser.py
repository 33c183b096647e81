"""Parses a model's reply: one turn of the requested form.

A model's text is data. A reply that matches the grammar is read as it is. Any other is searched for
calls, as the papers' own models write them: several thoughts, extra blanks, `none` in another case,
other names of the skills, no `Assigned!`. A call found in this way is normalised and must then
match the grammar too, so no call passes that the grammar does not allow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from planner.models.replies.turn_grammar import (
    ASK,
    END_OF_TURN,
    Naming,
    TurnForm,
    TurnGrammar,
    agent_label,
    word_of,
)
from planner.parts.calls import parse_call, roles_of
from planner.world.belief import Belief
from planner.world.receptacle import holds_things
from planner.world.skill import CallError, Role, SkillCall, SkillCode, SkillName
from planner.world.vocabulary import EntityKind, Relation

# Longer replies are rejected without a search: no call comes after that much text.
MAX_CHARACTERS = 20_000
DONE = SkillCall(SkillName.DONE)
# Bounded, and matched only at the start of a word, so that long replies take linear time.
_CALL_LINE = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,40}[ \t]{0,8}\[[^\[\]\n]*\]")
_QUESTION = re.compile(rf"{ASK}\[([^\[\]\n]*)\]")
_KINDS = {
    Role.OBJECT: {EntityKind.OBJECT},
    Role.FURNITURE: {EntityKind.FURNITURE},
    Role.RECEPTACLE: {EntityKind.OBJECT, EntityKind.FURNITURE},
    Role.ROOM: {EntityKind.ROOM},
    Role.OBJECT_OR_FURNITURE: {EntityKind.OBJECT, EntityKind.FURNITURE},
    Role.TARGET: {EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM},
    Role.REFERENCE: {EntityKind.OBJECT, EntityKind.FURNITURE},
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A parsed reply.

    Attributes:
        calls: of each agent asked about; empty if the reply is a question.
        spoken: the reply as the dialogue continues with it, without the end of the turn.
        exact: whether the reply matched the grammar as it was.
        ended: whether it contained `Assigned!`, or the model's server cut it off there.
        question: to the person, instead of an action; "" if none.
    """

    calls: Mapping[str, SkillCall] = field(default_factory=dict)
    spoken: str = ""
    exact: bool = True
    ended: bool = True
    question: str = ""


def read_turn(
    text: str, grammar: TurnGrammar, belief: Belief, naming: Naming, *, cut: bool = True
) -> Turn:
    """Parses a reply.

    Args:
        text: as the model gave it.
        grammar: of this turn.
        belief: resolves names.
        naming: how calls name entities.
        cut: whether the text may have been cut at `Assigned!`, as servers do at a stop string.

    Raises:
        CallError: if a call is missing, invalid, or not possible now.
    """
    if len(text) > MAX_CHARACTERS:
        raise CallError(SkillCode.UNPARSABLE, f"the reply has {len(text)} characters")
    before, said, _ = text.partition(END_OF_TURN)
    ends = grammar.form is not TurnForm.BARE
    whole = f"{before}{END_OF_TURN}" if ends and (said or cut) else before
    exact = grammar.read.accepts(whole)
    ended = bool(said) or cut or not ends
    read = _read_team if grammar.form is TurnForm.TEAM else _read_one
    turn = read(before, grammar, belief, naming)
    return Turn(turn.calls, before.strip(), exact, ended, turn.question)


def _read_one(text: str, grammar: TurnGrammar, belief: Belief, naming: Naming) -> Turn:
    (agent,) = grammar.call_rules
    found = _CALL_LINE.findall(text)
    if not found:
        raise CallError(SkillCode.UNPARSABLE, "the reply has no call of the form Skill[arguments]")
    # The last call before the end of the turn counts; a model without an end of turn talks on.
    word = found[0] if grammar.form is TurnForm.BARE else found[-1]
    asked = _QUESTION.fullmatch(word)
    if asked is not None and grammar.allows(agent, word):
        return Turn(question=asked[1].strip())
    return Turn({agent: _usual(word, agent, grammar, belief, naming)})


def _read_team(text: str, grammar: TurnGrammar, belief: Belief, naming: Naming) -> Turn:
    calls = {}
    for number, agent in enumerate(grammar.call_rules):
        lines = re.findall(rf"{agent_label(number)}\s*:\s*([^\n]*)", text)
        if lines:
            calls[agent] = _usual(lines[-1].strip(), agent, grammar, belief, naming)
    if len(calls) == len(grammar.call_rules):
        return Turn(calls)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not calls and lines and lines[-1] == str(DONE):
        return Turn(dict.fromkeys(grammar.call_rules, DONE))
    missing = next(n for n, agent in enumerate(grammar.call_rules) if agent not in calls)
    raise CallError(SkillCode.UNPARSABLE, f"the reply has no line {agent_label(missing)}: <call>")


def _usual(
    text: str, agent: str, grammar: TurnGrammar, belief: Belief, naming: Naming
) -> SkillCall:
    """Normalises a call, if it is possible now.

    Raises:
        CallError: saying what is wrong with it.
    """
    call = parse_call(text)
    roles = roles_of(call.name)
    words = []
    for role, word in zip(roles, call.arguments, strict=True):
        node = belief.find(word) if word is not None and role in _KINDS else None
        words.append((word_of(node, naming) or word) if node is not None else word)
    usual = SkillCall(call.name, tuple(words))
    if not grammar.allows(agent, str(usual)):
        ability = grammar.abilities[agent]
        check_call(usual, belief, ability.verbs)
        raise CallError(SkillCode.NOT_ALLOWED, f"{usual} is not possible now")
    return usual


def check_call(call: SkillCall, belief: Belief, verbs: Collection[str]) -> None:
    """Checks a call against the belief (EPM-2.5).

    Raises:
        CallError: naming what does not fit.
    """
    if call.name not in verbs:
        raise CallError(SkillCode.NOT_ABLE, f"{call.name} is not one of the possible actions")
    roles = roles_of(call.name)
    for role, word in zip(roles, call.arguments, strict=True):
        if role is Role.RELATION:
            if word not in (Relation.ON.value, Relation.WITHIN.value):
                raise CallError(SkillCode.WRONG_ARGUMENTS, f"{word} is neither on nor within")
        elif role is Role.CONSTRAINT:
            if word not in ("next_to", None):
                raise CallError(SkillCode.WRONG_ARGUMENTS, f"{word} is neither next_to nor None")
        elif role is not Role.TEXT:
            _check_entity(word, role, belief)
    if Role.REFERENCE in roles and (call.arguments[3] is None) is not (call.arguments[4] is None):
        raise CallError(SkillCode.WRONG_ARGUMENTS, "next_to and its reference go together")


def _check_entity(word: str | None, role: Role, belief: Belief) -> None:
    if word is None:
        if role is Role.REFERENCE:
            return
        raise CallError(SkillCode.WRONG_ARGUMENTS, f"expected {role.value}, got None")
    node = belief.find(word)
    if node is None:
        raise CallError(SkillCode.UNKNOWN_ENTITY, f"there is no {word} in the memory")
    fits = node.kind in _KINDS[role]
    if role is Role.RECEPTACLE and node.kind is EntityKind.OBJECT:
        fits = holds_things(node.class_name)
    if not fits:
        raise CallError(SkillCode.WRONG_ROLE, f"{word} is a {node.kind.value}, not {role.value}")


def check_reference(call: SkillCall, belief: Belief) -> None:
    """Checks that the reference of a placement is where the call claims (EPM-C29).

    Raises:
        CallError: naming both places.
    """
    if Role.REFERENCE not in roles_of(call.name):
        return
    _, _, furniture, _, reference = call.arguments
    node = belief.find(reference) if reference is not None else None
    place = belief.find(furniture) if furniture is not None else None
    if node is None or place is None or node.kind is not EntityKind.OBJECT:
        return
    if node.parent != place.name:
        raise CallError(SkillCode.REFERENCE_ELSEWHERE, f"{reference} is not on {furniture}")
