"""Parses descriptions such as "dirty cups on the table", and finds the entities that fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache

from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import Meaning, default_catalogue, default_word_meanings
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind

# Parses a description such as "dirty cups on the table in the kitchen" (PARTNR-6.1).
#
# A description is a list of clauses. Each has a head, which says what is searched for, places ("on
# the table", "in the kitchen") and features ("with a faucet").

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


# A room is also returned if its likelihood is at least this share of the most likely one's.
_LIKELY_SHARE = 0.5


def matching_objects(belief: Belief, text: str) -> list[BeliefNode]:
    """The known objects that a text means."""
    search = _Search(belief)
    description = read_description(text, EntityKind.OBJECT, belief)
    return _distinct(node for clause in description.clauses for node in search.objects(clause))


def matching_furniture(belief: Belief, text: str) -> list[BeliefNode]:
    """The furniture that a text means."""
    search = _Search(belief)
    description = read_description(text, EntityKind.FURNITURE, belief)
    return _distinct(node for clause in description.clauses for node in search.furniture(clause))


def furniture_anywhere(belief: Belief, text: str) -> list[BeliefNode]:
    """The furniture of the classes that a text names, wherever it is."""
    description = read_description(text, EntityKind.FURNITURE, belief)
    classes = frozenset().union(*(c.head.meaning.furniture for c in description.clauses))
    return [n for n in belief.of_kind(EntityKind.FURNITURE) if n.class_name in classes]


def matching_rooms(belief: Belief, text: str) -> list[str]:
    """The rooms that a text means, those first that are known to fit."""
    description = read_description(text, EntityKind.ROOM, belief)
    return _Search(belief).rooms(description)


class _Search:
    """Searches one snapshot of the belief."""

    def __init__(self, belief: Belief) -> None:
        self._belief = belief

    # Objects

    def objects(self, clause: Clause) -> list[BeliefNode]:
        head = clause.head
        classes = head.meaning.objects
        nodes = self._belief.of_kind(EntityKind.OBJECT)
        if classes:
            chosen = [node for node in nodes if _classes(node) & classes]
            # "red cup" is the red one, if any is known to be red.
            chosen = [n for n in chosen if _mentions(n, head.unknown)] or chosen
        elif head.unknown:
            chosen = [node for node in nodes if _mentions(node, head.unknown)]
        elif head.names & {node.name for node in nodes}:
            chosen = []
        elif head.is_any or clause.places or clause.features or _narrows(head):
            chosen = nodes
        else:
            chosen = []
        # "kitchen plates", "things of table_0"
        places = (*clause.places, Words(head.names, _places_only(head)))
        picked = {node.name for node in chosen}
        return [
            node
            for node in nodes
            if node.name in head.names
            or (node.name in picked and self._fits(node, head) and self._is_at(node, places))
        ]

    def furniture(self, clause: Clause) -> list[BeliefNode]:
        head = clause.head
        classes = head.meaning.furniture
        nodes = self._belief.of_kind(EntityKind.FURNITURE)
        if classes:
            chosen = [node for node in nodes if node.class_name in classes]
        elif head.unknown:
            chosen = [node for node in nodes if _mentions(node, head.unknown)]
        elif head.is_any and head.meaning.objects:
            # "a place for books"
            usual = _usual_furniture(head.meaning.objects)
            chosen = [node for node in nodes if node.class_name in usual]
        elif head.is_any or head.meaning.rooms or clause.features or _narrows(head):
            chosen = nodes
        else:
            chosen = []
        rooms = Words(frozenset(head.names - {node.name for node in nodes}), _rooms_only(head))
        places = (*clause.places, rooms)
        picked = {node.name for node in chosen}
        return [
            node
            for node in nodes
            if node.name in head.names
            or (
                node.name in picked
                and self._fits(node, head)
                and self._is_at(node, places)
                and all(self._has(node, feature) for feature in clause.features)
            )
        ]

    # Rooms

    def rooms(self, description: Description) -> list[str]:
        rooms = self._belief.of_kind(EntityKind.ROOM)
        found: list[str] = []
        for clause in description.clauses:
            head = clause.head
            named = [
                room
                for room in rooms
                if room.name in head.names or room.class_name in head.meaning.rooms
            ]
            places = [*clause.places, *clause.features]
            rest = Words(
                head.names - {room.name for room in rooms}, _without_rooms(head), unknown=()
            )
            if not rest.is_empty:
                places.append(rest)
            if not places:
                found += [room.name for room in named or (rooms if head.is_any else [])]
                continue
            allowed = {room.name for room in named or rooms}
            for words in places:
                found += self._rooms_with(words, allowed, is_guess=description.is_guess)
        return list(dict.fromkeys(found))

    def _rooms_with(self, words: Words, allowed: set[str], *, is_guess: bool) -> list[str]:
        """Rooms in which such things are known or, failing that, likely."""
        known = [
            node.room or ""
            for node in self._belief.nodes.values()
            if node.kind in (EntityKind.OBJECT, EntityKind.FURNITURE)
            and node.room in allowed
            and self._is(node, words)
        ]
        found = [room for room in dict.fromkeys(known) if room]
        if is_guess or not found:
            found += self._likely_rooms(words.meaning.objects, allowed)
        return found

    def _likely_rooms(self, classes: frozenset[str], allowed: set[str]) -> list[str]:
        """The rooms where the catalogue expects such things, by their furniture."""
        catalogue = default_catalogue().objects
        rooms = [r for r in self._belief.of_kind(EntityKind.ROOM) if r.name in allowed]
        furniture = {(n.room, n.class_name) for n in self._belief.of_kind(EntityKind.FURNITURE)}
        weights = dict.fromkeys((room.name for room in rooms), 0.0)
        for name in classes & catalogue.keys():
            places = catalogue[name].places
            whole = sum(place.weight for place in places)
            for room in rooms:
                for place in places:
                    in_room = not place.rooms or room.class_name in place.rooms
                    if in_room and (room.name, place.furniture) in furniture:
                        weights[room.name] += place.weight / whole
        best = max(weights.values(), default=0.0)
        ordered = sorted(weights.items(), key=lambda item: -item[1])
        return [name for name, w in ordered if best > 0 and w >= _LIKELY_SHARE * best]

    # Conditions on an entity

    def _fits(self, node: BeliefNode, words: Words) -> bool:
        """Whether it has the states and affordances required; unknown states do not count."""
        meaning = words.meaning
        affordances, table = _affordances(node), default_states()

        def shows(state: str, value: bool) -> bool:
            # States without a default are stated only if true, so otherwise they are false.
            implied = state not in table.defaults and table.affordance_of[state] in affordances
            return node.states.get(state, False if implied else None) is value

        return meaning.affordances <= affordances and all(shows(s, v) for s, v in meaning.states)

    def _is(self, node: BeliefNode, words: Words) -> bool:
        """Whether the words of a place or a feature mean this entity."""
        if node.name in words.names:
            return True
        meaning = words.meaning
        classes = meaning.objects if node.kind is EntityKind.OBJECT else meaning.furniture
        if node.kind is EntityKind.ROOM:
            return node.class_name in meaning.rooms
        if meaning.objects or meaning.furniture:
            return bool(_classes(node) & classes) and self._fits(node, words)
        if _narrows(words):
            return self._fits(node, words)
        return _mentions(node, words.unknown)

    def _is_at(self, node: BeliefNode, places: Iterable[Words]) -> bool:
        """Whether an entity is at all of these places."""
        around = list(self._around(node))
        return all(
            (words.is_nearby and self._is_beside(node, words))
            or any(self._is(place, words) for place in around)
            for place_words in places
            for words in _levels(place_words)
        )

    def _around(self, node: BeliefNode) -> Iterator[BeliefNode]:
        """What it is on or in, what that is on or in, and its room."""
        found: dict[str, BeliefNode] = {}
        parent = self._belief.nodes.get(node.parent or "")
        room = node.room or (parent.room if parent is not None else None)
        while parent is not None and parent.name not in found:
            found[parent.name] = parent
            parent = self._belief.nodes.get(parent.parent or "")
        if room is not None and room in self._belief.nodes:
            found[room] = self._belief.nodes[room]
        yield from found.values()

    def _is_beside(self, node: BeliefNode, words: Words) -> bool:
        """Whether such an entity is on the same thing or, for furniture, in the same room."""
        return any(
            other.parent is not None and other.parent == node.parent and self._is(other, words)
            for other in self._belief.nodes.values()
            if other.name != node.name
        )

    def _has(self, node: BeliefNode, feature: Words) -> bool:
        """Whether furniture has (or for "without" lacks) a component, or a thing on or in it."""
        found = self._is(node, feature) or any(
            self._is(thing, feature) for thing in self._belief.inside(node.name)
        )
        return found is not feature.is_absent


def _distinct(nodes: Iterable[BeliefNode]) -> list[BeliefNode]:
    return list({node.name: node for node in nodes}.values())


def _narrows(words: Words) -> bool:
    return bool(words.meaning.affordances or words.meaning.states)


def _levels(words: Words) -> Iterator[Words]:
    """Separates the room and furniture of "kitchen table": both must fit."""
    meaning = words.meaning
    if meaning.rooms and (meaning.objects or meaning.furniture):
        yield replace(words, names=frozenset(), meaning=_rooms_only(words))
        yield replace(words, meaning=_without_rooms(words))
    elif not words.is_empty:
        yield words


def _usual_furniture(classes: frozenset[str]) -> frozenset[str]:
    """The classes of furniture on or in which the catalogue expects such things."""
    known = default_catalogue().objects
    return frozenset(p.furniture for c in classes if c in known for p in known[c].places)


def _places_only(head: Words) -> Meaning:
    return Meaning(furniture=head.meaning.furniture, rooms=head.meaning.rooms)


def _rooms_only(head: Words) -> Meaning:
    return Meaning(rooms=head.meaning.rooms)


def _without_rooms(head: Words) -> Meaning:
    return replace(head.meaning, rooms=frozenset())


def _classes(node: BeliefNode) -> frozenset[str]:
    """Its classes by the catalogue; a model may have named it in free text."""
    return frozenset({node.class_name}) | _classes_of(node.class_name, node.kind)


@lru_cache(maxsize=4096)
def _classes_of(class_name: str, kind: EntityKind) -> frozenset[str]:
    catalogue = default_catalogue()
    if kind is not EntityKind.OBJECT:
        found = catalogue.furniture_name(class_name)
        return frozenset({found} if found is not None else ())
    found = catalogue.object_name(class_name)
    if found is not None:
        return frozenset({found})
    words = class_name.split()
    meaning = default_word_meanings().find(words[-1]) if words else None
    return meaning.objects if meaning is not None else frozenset()


def _affordances(node: BeliefNode) -> frozenset[str]:
    known = frozenset(node.affordances)
    if node.kind is not EntityKind.OBJECT:
        return known
    catalogue = default_catalogue().objects
    return known.union(*(catalogue[c].affordances for c in _classes(node) if c in catalogue))


def _mentions(node: BeliefNode, unknown: tuple[str, ...]) -> bool:
    """Whether words that are not in the catalogue occur in an entity's free text."""
    own = set(re.findall(r"[^\W_]+", f"{node.class_name} {node.description}".lower()))
    return any(word in own for word in unknown)
