"""Reading what a model answered: one turn of the form that was asked for.

A model's text is data. A reply of the grammar's language is read as it stands. Any other is
searched for calls, as the papers' own models write them: more thoughts, blanks, other case of
`none`, the skills' other names, no `Assigned!`. What is found is spelled as usual and must then
be of the grammar's language too: no call gets through that the grammar does not allow.
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
from planner.world.skill import CallError, Role, SkillCall, SkillCode, SkillName
from planner.world.vocabulary import EntityKind, Relation

# Longer answers are not searched: no call stands behind so much text.
MAX_CHARACTERS = 20_000
DONE = SkillCall(SkillName.DONE)
# Bounded, and begun only where a word begins: a page of letters is read in one go.
_CALL_LINE = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,40}[ \t]{0,8}\[[^\[\]\n]*\]")
_QUESTION = re.compile(rf"{ASK}\[([^\[\]\n]*)\]")
_KINDS = {
    Role.OBJECT: {EntityKind.OBJECT},
    Role.FURNITURE: {EntityKind.FURNITURE},
    Role.ROOM: {EntityKind.ROOM},
    Role.OBJECT_OR_FURNITURE: {EntityKind.OBJECT, EntityKind.FURNITURE},
    Role.TARGET: {EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM},
    Role.REFERENCE: {EntityKind.OBJECT, EntityKind.FURNITURE},
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a reply says.

    Attributes:
        calls: of each agent that was asked about; empty where the reply is a question.
        spoken: the reply as it goes on in the dialogue, without the end of the turn.
        exact: whether the reply was of the grammar's language as it stood.
        ended: whether it said `Assigned!` itself, or was cut off there by the model's server.
        question: what the person is asked instead of acting.
    """

    calls: Mapping[str, SkillCall] = field(default_factory=dict)
    spoken: str = ""
    exact: bool = True
    ended: bool = True
    question: str = ""


def read_turn(
    text: str, grammar: TurnGrammar, belief: Belief, naming: Naming, *, cut: bool = True
) -> Turn:
    """Reads a reply.

    Args:
        text: as the model gave it.
        grammar: of this turn.
        belief: what names are looked up in.
        naming: how calls name entities.
        cut: whether the text may have been cut at `Assigned!`, as servers do at a stop string.

    Raises:
        CallError: where a call is missing, is none, or is not possible now.
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
    # Before the end of a turn the last call is meant; a model without one talks on.
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
    """A call in its usual spelling, if it is possible now.

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
    """Says what is wrong with a call, if something is (EPM-2.5).

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
    if node.kind not in _KINDS[role]:
        raise CallError(SkillCode.WRONG_ROLE, f"{word} is a {node.kind.value}, not {role.value}")


def check_reference(call: SkillCall, belief: Belief) -> None:
    """Says so where the thing to end up next to is believed elsewhere (EPM-C29).

    Raises:
        CallError: naming both.
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
