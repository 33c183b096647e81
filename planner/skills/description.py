"""Parses a description such as "dirty cups on the table in the kitchen" (PARTNR-6.1).

A description is a list of clauses. Each has a head, which says what is searched for, places ("on
the table", "in the kitchen") and features ("with a faucet").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.vocabulary import EntityKind
from planner.world.word_meanings import Meaning, default_word_meanings

_MAX_PHRASE_WORDS = 4
_MAX_WORDS = 200
_WORD = re.compile(r"[^\W_]+(?:[_-][^\W_]+)*|[,;]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WITHOUT = "without"
_SEPARATORS = frozenset({",", ";", "and", "or"})
_IN_PLACE = _words("on onto in inside into within at from upon under behind of off around")
_NEARBY = _words("near beside by nearby next next_to close")
_HAVING = _words("with has have having contains contain containing holds hold holding")
_NEGATIONS = _words("not no never isn aren")
_LIKELY = _words("may might could can would should likely probably possibly usually")
_PRONOUNS = _words("that which who i you we it one they")
_FILLERS = _PRONOUNS | _words(
    "a an the this these those my your our their its there here where what is are be to for as"
    " do does find get show me please top just only found located placed lying kept"
    " used put keep go belong"
)
_ANY = _words("all any every each anything everything something some somewhere")
_GENERIC = {
    EntityKind.OBJECT: _words("item items object objects thing things stuff"),
    EntityKind.FURNITURE: _words("furniture furnitures receptacle receptacles place places"),
    EntityKind.ROOM: _words("room rooms area areas region regions place places"),
}
_FLOOR = Meaning(furniture=frozenset({"floor"}))


@dataclass(frozen=True, slots=True)
class Words:
    """The meaning of some words of a description.

    Attributes:
        names: entities that they name.
        meaning: by the catalogue.
        is_any: whether they mean anything of the kind searched for ("things").
        unknown: words without a known meaning.
        is_nearby: for a place, whether it means next to it.
        is_absent: for a feature, whether it must be absent ("without").
    """

    names: frozenset[str] = frozenset()
    meaning: Meaning = field(default_factory=Meaning)
    is_any: bool = False
    unknown: tuple[str, ...] = ()
    is_nearby: bool = False
    is_absent: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether they have no content, as in "on it"."""
        return not (self.names or self.unknown or self.meaning != Meaning())


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing searched for, with its places and features."""

    head: Words = field(default_factory=Words)
    places: tuple[Words, ...] = ()
    features: tuple[Words, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """What a text searches for: any of the clauses; `is_guess` if likely matches count."""

    clauses: tuple[Clause, ...]
    is_guess: bool


class _Role(Enum):
    HEAD = auto()
    PLACE = auto()
    NEARBY = auto()
    FEATURE = auto()
    ABSENT = auto()


def read_description(text: str, kind: EntityKind, belief: Belief) -> Description:
    """Parses a description.

    Args:
        text: in plain English, from a model.
        kind: the kind of entity searched for.
        belief: for names of entities.
    """
    tokens = _WORD.findall(text.lower())[:_MAX_WORDS]
    clauses: list[Clause] = []
    clause, role, words = Clause(), _Role.HEAD, Words()
    is_guess = is_negated = False
    at = 0
    while at < len(tokens):
        token = tokens[at]
        is_modal = _is_modal(tokens, at)
        length, found = (0, Words()) if is_modal else _longest(tokens[at:], belief)
        is_guess |= is_modal
        if length:
            found = _negated(found) if is_negated else found
            words = _joined(words, found, kind if role is _Role.HEAD else None)
        elif token in _SEPARATORS:
            clause, words = _closed(clause, role, words), Words()
            if role not in (_Role.FEATURE, _Role.ABSENT):
                clauses.append(clause)
                clause, role = Clause(), _Role.HEAD
        elif token in _IN_PLACE | _NEARBY | _HAVING or token == _WITHOUT:
            clause, words = _closed(clause, role, words), Words()
            role = _role_after(token, role)
        elif token in _ANY or token in _GENERIC[kind]:
            words = replace(words, is_any=True)
        elif not is_modal and token not in _FILLERS | _NEGATIONS and len(token) > 2:
            words = replace(words, unknown=(*words.unknown, token))
        is_negated = token in _NEGATIONS
        at += length or 1
    clauses.append(_closed(clause, role, words))
    return Description(tuple(_shared_places(clauses, kind)), is_guess)


def _is_modal(tokens: list[str], at: int) -> bool:
    # The "can" of "that can hold it" or "where can I sit" is not an object.
    beside = {*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 2]}
    return tokens[at] in _LIKELY and (tokens[at] != "can" or bool(beside & _PRONOUNS))


def _role_after(token: str, role: _Role) -> _Role:
    if token == _WITHOUT:
        return _Role.ABSENT
    if token in _HAVING:
        return _Role.FEATURE
    if token in _NEARBY or (token in ("of", "from") and role is _Role.NEARBY):
        return _Role.NEARBY
    return _Role.PLACE


def _longest(tokens: list[str], belief: Belief) -> tuple[int, Words]:
    """The longest phrase at the start with a meaning, and its number of tokens."""
    for length in range(min(_MAX_PHRASE_WORDS, len(tokens)), 0, -1):
        phrase = " ".join(tokens[:length])
        node = belief.find(phrase.replace(" ", "_"))
        if node is not None:
            return length, Words(names=frozenset({node.name}))
        if phrase in ("floor", "floors", "ground"):
            return length, Words(meaning=_FLOOR)
        meaning = default_word_meanings().find(phrase)
        if meaning is not None and not _says_room(tokens[:length], meaning):
            return length, Words(meaning=meaning)
    return 0, Words()


def _says_room(words: list[str], meaning: Meaning) -> bool:
    """Whether it is a room plus a plainer word: "kitchen counter" is a counter in the kitchen."""
    catalogue = default_catalogue()
    return any(
        catalogue.room_name(" ".join(words[:cut])) is not None
        and catalogue.furniture_name(" ".join(words[cut:])) in meaning.furniture
        for cut in range(1, len(words))
    )


def _negated(found: Words) -> Words:
    """The same with opposite states, for "not clean"."""
    states = frozenset((state, not value) for state, value in found.meaning.states)
    return replace(found, meaning=replace(found.meaning, states=states))


def _joined(words: Words, found: Words, kind: EntityKind | None) -> Words:
    """Both combined; a head word with meanings of several kinds means the kind searched for."""
    meaning = found.meaning
    if kind is EntityKind.OBJECT and meaning.objects:
        meaning = replace(meaning, furniture=frozenset())
    elif kind is EntityKind.FURNITURE and meaning.furniture:
        meaning = replace(meaning, objects=frozenset())
    return replace(words, names=words.names | found.names, meaning=words.meaning | meaning)


def _closed(clause: Clause, role: _Role, words: Words) -> Clause:
    """The clause with the words added in their role."""
    if role is _Role.HEAD:
        return replace(clause, head=words)
    if words.is_empty:
        return clause
    if role in (_Role.FEATURE, _Role.ABSENT):
        words = replace(words, is_absent=role is _Role.ABSENT)
        return replace(clause, features=(*clause.features, words))
    return replace(clause, places=(*clause.places, replace(words, is_nearby=role is _Role.NEARBY)))


def _shared_places(clauses: Iterable[Clause], kind: EntityKind) -> list[Clause]:
    """Puts both on C for "A and B on C", and A on B and on C for "A on B and C"."""
    found: list[Clause] = []
    for clause in clauses:
        head = clause.head
        if head.is_empty and not (head.is_any or clause.places or clause.features):
            continue
        is_place = bool(head.meaning.furniture or head.meaning.rooms) and not head.meaning.objects
        if kind is EntityKind.OBJECT and is_place and not head.is_any and not clause.places:
            before = found[-1] if found else Clause()
            if before.places:
                found.append(replace(before, places=(head,)))
                continue
        found.append(clause)
    for i in range(len(found) - 2, -1, -1):
        if not (found[i].places or found[i].features):
            found[i] = replace(found[i], places=found[i + 1].places)
    return found
