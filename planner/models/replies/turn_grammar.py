"""The grammar of one turn: the calls that are possible now, as GBNF (PARTNR-7.4).

It is rebuilt before every model call from the belief, and cached by content. A call that no known
entity can be the argument of is left out (PARTNR-D53). Blanks and free text are bounded, so that
every reply ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache

from planner.models.gbnf import Grammar, quoted, read_grammar
from planner.parts.calls import roles_of, takes_text
from planner.world.belief import Belief, BeliefNode
from planner.world.receptacle import holds_things
from planner.world.skill import Role, SkillCall
from planner.world.vocabulary import EntityKind

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
    """How calls name entities."""

    NUMBERS = "Object.N"
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


@dataclass(frozen=True, slots=True)
class Ability:
    """What one agent can be asked to do.

    Attributes:
        verbs: its skills and tools.
        blocked: calls that are excluded because they failed repeatedly.
        may_ask: whether it may ask the person with `Ask[...]`.
    """

    verbs: tuple[str, ...]
    blocked: tuple[SkillCall, ...] = ()
    may_ask: bool = False


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
    return f"Object.{node.entity_id}" if node.entity_id is not None else ""


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
        choices = [
            rule for verb in ability.verbs if (rule := self._verb(name, verb, ability.blocked))
        ]
        if ability.may_ask:
            choices.append(self._add("ask", f'"{ASK}[" {_QUESTION} "]"'))
        self._rules[name] = " | ".join(choices)
        return name

    def _add(self, name: str, body: str) -> str:
        self._rules.setdefault(name, body)
        return name

    def _verb(self, agent: str, verb: str, blocked: Collection[SkillCall]) -> str:
        """The rule of a call, or "" if there is no possible argument."""
        without = {c.arguments for c in blocked if c.name == verb}
        roles = roles_of(verb)
        # A call blocked for one agent is not blocked for the others.
        name = verb.lower() + (agent.removeprefix("call") if without else "")
        if takes_text(verb):
            return self._add(name, f'"{verb}[" {_FREE_TEXT} "]"')
        if not roles:
            return "" if without else self._add(name, quoted(f"{verb}[]"))
        if Role.RELATION in roles:
            body = self._place(verb, {words[2] for words in without})
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

    def _place(self, verb: str, not_at: set[str | None]) -> str:
        thing, place = self._argument("object", set()), self._argument("receptacle", not_at)
        if not thing or not place:
            return ""
        self._add("ws", _WS)
        self._add("relation", '"on" | "within"')
        self._add("none", '"none" | "None"')
        entity = self._argument("entity", set())
        self._add("where", f'"next_to" "," ws {entity} | none ws "," ws none')
        head = f'"{verb}[" {thing} "," ws relation "," ws {place} "," ws'
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
