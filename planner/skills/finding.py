"""Finds the entities of the belief that fit a description, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from planner.skills.description import Clause, Description, Words, read_description
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind
from planner.world.word_meanings import Meaning, default_word_meanings

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
