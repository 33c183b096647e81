"""Turns of a dialogue: skill calls as records, their grammar and their parser (PARTNR-7.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache

from planner.models.gbnf import Grammar, quoted, read_grammar
from planner.parts.calls import parse_call, roles_of, takes_text
from planner.world.belief import Belief, BeliefNode, named_by_class
from planner.world.receptacle import holds_things
from planner.world.skill import CallError, Role, SkillCall, SkillCode, SkillName
from planner.world.vocabulary import EntityKind, Relation

# The grammar of one turn: the calls that are possible now, as GBNF (PARTNR-7.4).
#
# It is rebuilt before every model call from the belief, and cached by content. A call that no known
# entity can be the argument of is left out (PARTNR-D53). Blanks and free text are bounded, so that
# every reply ends.

END_OF_TURN = "Assigned!"
THOUGHT = "Thought: "
ASK = "Ask"
# Characters. Thoughts in the papers have 52 tokens including the call.
MAX_THOUGHT = 500
MAX_FREE_TEXT = 80
_CACHED = 256
# The paper has `[ ]*`; bounded, so that a model cannot spend its tokens on blanks.
_WS = '" "? " "?'
# The paper's character class for free text, written as ranges that every engine reads alike.
_FREE_CHARACTER = "[ \"'.:,!a-zA-Z_0-9]"
# May be empty, as there; a question may not.
_FREE_TEXT = f"{_FREE_CHARACTER}{{0,{MAX_FREE_TEXT}}}"
_QUESTION = f"{_FREE_CHARACTER}{{1,{MAX_FREE_TEXT}}}"
_RULE_OF_ROLE = {
    Role.OBJECT: "object",
    Role.FURNITURE: "furniture",
    Role.RECEPTACLE: "receptacle",
    Role.ROOM: "room",
    Role.OBJECT_OR_FURNITURE: "entity",
    Role.TARGET: "target",
}


class Naming(StrEnum):
    """How calls name entities: `Object.149`, `cup_149` by the same number, or by their names."""

    NUMBERS = "Object.N"
    CLASSES = "class_N"
    NAMES = "names"


class TurnForm(StrEnum):
    """What a turn consists of.

    CALL: a call, then `Assigned!` (EPM-2.5). THOUGHT: a line of thought first
    (PARTNR-7.2). TEAM: a thought and a call for every agent, or `Done[]` for all (PARTNR-7.3).
    BARE: nothing but the call (PARTNR-7.7).
    """

    CALL = "call"
    THOUGHT = "thought"
    TEAM = "team"
    BARE = "bare"


@dataclass(frozen=True)
class Words:
    """Names that calls can use now, each level sorted; `holders` are objects, too."""

    objects: tuple[str, ...]
    furniture: tuple[str, ...]
    rooms: tuple[str, ...]
    holders: tuple[str, ...] = ()


# How something is put down.
PUT_DOWN = (Relation.ON, Relation.WITHIN)


@dataclass(frozen=True, slots=True)
class Ability:
    """What one agent can be asked to do.

    Attributes:
        verbs: its skills and tools.
        blocked: calls that are excluded because they failed repeatedly.
        may_ask: whether it may ask the person with `Ask[...]`.
        held: what it has in its hands, which alone it can put down; None = not considered.
        hands: how many things it may hold: with all of them full it picks nothing up.
        relations: how it may put things down: on something, or within.
    """

    verbs: tuple[str, ...]
    blocked: tuple[SkillCall, ...] = ()
    may_ask: bool = False
    held: tuple[str, ...] | None = None
    hands: int = 1
    relations: tuple[Relation, ...] = PUT_DOWN


@dataclass(frozen=True)
class TurnGrammar:
    """The grammar of one turn.

    Attributes:
        call_rules: the rule of each agent's call.
        abilities: what each agent can be asked to do.
    """

    text: str
    form: TurnForm
    call_rules: Mapping[str, str] = field(default_factory=dict)
    abilities: Mapping[str, Ability] = field(default_factory=dict)

    @cached_property
    def read(self) -> Grammar:
        """The same grammar, parsed."""
        return read_grammar(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether an agent has nothing to call."""
        return any(f"{rule} ::= \n" in self.text for rule in self.call_rules.values())

    def allows(self, agent: str, call: str) -> bool:
        """Whether a call in canonical spelling is possible for an agent now."""
        return self.read.accepts(call, self.call_rules[agent])


def words_of(belief: Belief, naming: Naming) -> Words:
    """All names in the belief that a call can use."""
    found: dict[EntityKind, list[str]] = {kind: [] for kind in EntityKind}
    holders: list[str] = []
    for node in sorted(belief.nodes.values(), key=_order):
        word = word_of(node, naming)
        if word and is_speakable(word):
            found[node.kind].append(word)
            if node.kind is EntityKind.OBJECT and holds_things(node.class_name):
                holders.append(word)
    return Words(
        tuple(found[EntityKind.OBJECT]),
        tuple(found[EntityKind.FURNITURE]),
        tuple(found[EntityKind.ROOM]) if naming is Naming.NAMES else (),
        tuple(holders),
    )


def word_of(node: BeliefNode, naming: Naming) -> str:
    """The name of an entity in calls; "" if this naming has none for it."""
    if naming is Naming.NAMES:
        return node.name
    if node.entity_id is None:
        return ""
    if naming is Naming.CLASSES:
        return named_by_class(node.class_name, node.entity_id)
    return f"Object.{node.entity_id}"


def is_speakable(word: str) -> bool:
    """Whether a name can be part of a call; models make up names too."""
    return (
        bool(word)
        and word.isprintable()
        and word == word.strip()
        and not set(word) & set("[],")
        and word.lower() != "none"
    )


def _order(node: BeliefNode) -> tuple[str, int, str]:
    class_name, _, number = node.name.rpartition("_")
    if number.isascii() and number.isdigit():
        return class_name, int(number), node.name
    return node.name, -1, node.name


def turn_grammar(words: Words, abilities: Mapping[str, Ability], form: TurnForm) -> TurnGrammar:
    """The grammar of one turn of one agent, or in the form TEAM of all agents in order."""
    return _turn_grammar(words, tuple(abilities.items()), form)


@lru_cache(maxsize=_CACHED)
def _turn_grammar(
    words: Words, abilities: tuple[tuple[str, Ability], ...], form: TurnForm
) -> TurnGrammar:
    rules = _Rules(words)
    calls = {
        agent: rules.call(f"call{number}", ability)
        for number, (agent, ability) in enumerate(abilities)
    }
    end = quoted(f"\n{END_OF_TURN}")
    thought = f'{quoted(THOUGHT)} [^\\n]{{0,{MAX_THOUGHT}}} "\\n"'
    only = next(iter(calls.values()))
    if form is TurnForm.BARE:
        root = only
    elif form is TurnForm.CALL:
        root = f"{only} {end}"
    elif form is TurnForm.THOUGHT:
        root = f"{thought} {only} {end}"
    else:
        lines = [
            f"{quoted(f'{agent_label(number)}: ')} {rule}"
            for number, rule in enumerate(calls.values())
        ]
        body = ' "\\n" '.join(lines)
        root = f'{thought} ({body} | "Done[]") {end}'
    return TurnGrammar(f"root ::= {root}\n" + rules.text(), form, calls, dict(abilities))


def agent_label(number: int) -> str:
    """`Agent_0_Action`, by the agent's index in the team."""
    return f"Agent_{number}_Action"


class _Rules:
    """Collects the rules below the root."""

    def __init__(self, words: Words) -> None:
        self._names: dict[str, Sequence[str]] = {
            "object": words.objects,
            "furniture": words.furniture,
            "room": words.rooms,
            "holder": words.holders,
        }
        self._rules: dict[str, str] = {}

    def text(self) -> str:
        return "".join(f"{name} ::= {body}\n" for name, body in self._rules.items())

    def call(self, name: str, ability: Ability) -> str:
        """The rule of one agent's call."""
        choices = [rule for verb in ability.verbs if (rule := self._verb(name, verb, ability))]
        if ability.may_ask:
            choices.append(self._add("ask", f'"{ASK}[" {_QUESTION} "]"'))
        self._rules[name] = " | ".join(choices)
        return name

    def _add(self, name: str, body: str) -> str:
        self._rules.setdefault(name, body)
        return name

    def _verb(self, agent: str, verb: str, ability: Ability) -> str:
        """The rule of a call, or "" if there is no possible argument."""
        without = {c.arguments for c in ability.blocked if c.name == verb}
        roles = roles_of(verb)
        if len(ability.held or ()) >= ability.hands and verb == SkillName.PICK:
            return ""
        # A call blocked for one agent is not blocked for the others.
        name = verb.lower() + (agent.removeprefix("call") if without else "")
        if takes_text(verb):
            return self._add(name, f'"{verb}[" {_FREE_TEXT} "]"')
        if not roles:
            return "" if without else self._add(name, quoted(f"{verb}[]"))
        if Role.RELATION in roles:
            if ability.held is not None:
                name = verb.lower() + agent.removeprefix("call")
            body = self._place(verb, {words[2] for words in without}, ability)
        else:
            body = self._entities(verb, roles, {words[-1] for words in without})
        return self._add(name, body) if body else ""

    def _entities(self, verb: str, roles: Sequence[Role], not_last: set[str | None]) -> str:
        rules = [self._argument(_RULE_OF_ROLE[role], set()) for role in roles[:-1]]
        rules.append(self._argument(_RULE_OF_ROLE[roles[-1]], not_last))
        if not all(rules):
            return ""
        if len(rules) > 1:
            self._add("ws", _WS)
        between = ' "," ws '.join(rules)
        return f'"{verb}[" {between} "]"'

    def _place(self, verb: str, not_at: set[str | None], ability: Ability) -> str:
        kept = self._names["object"] if ability.held is None else ability.held
        apart: set[str | None] = {name for name in self._names["object"] if name not in kept}
        thing, place = self._argument("object", apart), self._argument("receptacle", not_at)
        if not thing or not place:
            return ""
        self._add("ws", _WS)
        name = "relation" if ability.relations == PUT_DOWN else ability.relations[0]
        relation = self._add(name, " | ".join(map(quoted, ability.relations)))
        self._add("none", '"none" | "None"')
        entity = self._argument("entity", set())
        self._add("where", f'"next_to" "," ws {entity} | none ws "," ws none')
        head = f'"{verb}[" {thing} "," ws {relation} "," ws {place} "," ws'
        return f'{head} where "]"'

    def _argument(self, rule: str, without: set[str | None]) -> str:
        """A rule, or alternatives, for an argument; "" if there is none."""
        if rule == "receptacle" and not self._names["holder"]:
            rule = "furniture"
        if rule in self._names:
            return self._listed(rule, without)
        kinds = {
            "receptacle": ["furniture", "holder"],
            "target": ["furniture", "object", "room"],
        }.get(rule, ["furniture", "object"])
        known = [part for kind in kinds if (part := self._listed(kind, without))]
        if len(known) < 2 or without:
            return f"({' | '.join(known)})" if known else ""
        return self._add(rule, " | ".join(known))

    def _listed(self, kind: str, without: set[str | None]) -> str:
        names = [name for name in self._names[kind] if name not in without]
        if not names:
            return ""
        body = " | ".join(quoted(name) for name in names)
        if len(names) < len(self._names[kind]):
            return f"({body})"
        return self._add(kind, body)


# Parses a model's reply: one turn of the requested form.
#
# A model's text is data. A reply that matches the grammar is read as it is. Any other is searched
# for calls, as the papers' own models write them: several thoughts, extra blanks, `none` in
# another case, other names of the skills, no `Assigned!`. A call found in this way is normalised
# and must then match the grammar too, so no call passes that the grammar does not allow.

# Longer replies are rejected without a search: no call comes after that much text.
MAX_CHARACTERS = 20_000
DONE = SkillCall(SkillName.DONE)
# Bounded, and matched only at the start of a word, so that long replies take linear time.
_CALL_LINE = re.compile(r"(?<![A-Za-z])[A-Za-z]{1,40}[ \t]{0,8}\[[^\[\]\n]*\]")
_TURN_PARSER_QUESTION = re.compile(rf"{ASK}\[([^\[\]\n]*)\]")
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
    asked = _TURN_PARSER_QUESTION.fullmatch(word)
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


# A character may take four tokens in a tokenizer that falls back to bytes, in the worst case each
# one of a thought; a typical thought has a tenth of that.
_MAX_TOKENS = {TurnForm.CALL: 128, TurnForm.BARE: 128, TurnForm.THOUGHT: 640, TurnForm.TEAM: 768}


def allow(_call: SkillCall) -> None:
    """Accepts every call."""


@dataclass(frozen=True, slots=True)
class TurnReply:
    """The form of one turn; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        of: its grammar.
        belief: resolves names in the reply.
        naming: how calls name entities.
        check: rejects what no grammar can, with a `CallError`.
    """

    of: TurnGrammar
    belief: Belief
    naming: Naming
    check: Callable[[SkillCall], None] = allow

    @property
    def grammar(self) -> str:
        """GBNF of this turn."""
        return self.of.text

    @property
    def stop(self) -> tuple[str, ...]:
        """The end-of-turn marker, if the form has one."""
        return () if self.of.form is TurnForm.BARE else (END_OF_TURN,)

    @property
    def max_tokens(self) -> int:
        """For the longest turn."""
        return _MAX_TOKENS[self.of.form]

    def read(self, text: str, *, ended: bool) -> Turn:
        """Parses the turn.

        Raises:
            CallError: if a call is missing, invalid, or not possible now.
        """
        # Servers remove the stop string: only a reply that ran out of tokens lacks it.
        turn = read_turn(text, self.of, self.belief, self.naming, cut=ended)
        for call in turn.calls.values():
            self.check(call)
        return turn
