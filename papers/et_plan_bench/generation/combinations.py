"""All combinations of a house's things that fit a template, and drawing them evenly."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator

from papers.et_plan_bench.generation.categories import Category
from papers.et_plan_bench.generation.house_facts import (
    Entity,
    HouseFacts,
    are_related,
    fits_at,
    is_nested,
    is_usual,
    nest_relation,
    stands_out,
    suits_nest,
)
from papers.et_plan_bench.generation.idea import Idea, Link, RelationWord
from planner.world.vocabulary import Relation

_WORDS: dict[Relation, RelationWord] = {Relation.ON: "ON", Relation.WITHIN: "INSIDE"}
# Closer than the judge's 1.5 m and in one room, so that readers agree.
_NEAR_M = 1.0
# Furniture that has a front, and what one sits opposite of.
_SEATS = frozenset({"couch", "armchair", "bench", "bed"})
_SIGHTS = frozenset({"tv", "tv_stand", "bed", "couch", "desk", "wardrobe"})
_FACES_RAD, _AVERTED_RAD, _SIGHT_M = math.radians(30), math.radians(90), 4.0
# Nobody says that a thing is in a counter.
_NO_INSIDES = frozenset({"counter", "desk"})
# What is in there is to be washed, or rubbish.
_NEVER_TAKEN_FROM = frozenset({"hamper", "trash_can"})
# Nobody is sent to look for these.
_NEVER_SOUGHT = frozenset({"curtains", "light_switch", "lightswitch", "door", "doorjamb", "window"})


def combinations(facts: HouseFacts, category: Category) -> tuple[Idea, ...]:
    """All ideas of a category in a fixed order; none if the house lacks what they need."""
    return tuple(dict.fromkeys(_MAKERS[category](facts)))


def relations(facts: HouseFacts) -> Iterator[tuple[str, Link]]:
    """Pairs (A, R B) that hold at the start, where R says something to a reader."""
    for thing in facts.things:
        yield from _placements(facts, thing)
        if not facts.closed_around(thing.name):
            yield from _neighbours(facts, thing)
        yield thing.name, Link("INSIDE", thing.room)
    for piece in facts.furniture:
        yield from _facings(facts, piece)


def _placements(facts: HouseFacts, thing: Entity) -> Iterator[tuple[str, Link]]:
    holder = facts.entities.get(thing.parent)
    if holder is not None and thing.relation is not None:
        if thing.relation is Relation.WITHIN and holder.known in _NO_INSIDES:
            return
        yield thing.name, Link(_WORDS[thing.relation], thing.parent)


def _neighbours(facts: HouseFacts, thing: Entity) -> Iterator[tuple[str, Link]]:
    for other in facts.entities.values():
        if (
            other.room == thing.room
            and other.name not in (thing.name, thing.parent)
            and other.parent != thing.name
            and other.class_name not in _NEVER_SOUGHT
            and other.class_name != thing.class_name
            and stands_out(facts, other.name)
            and not facts.closed_around(other.name)
            and facts.gap_m(thing.name, other.name) < _NEAR_M
        ):
            yield thing.name, Link("CLOSE", other.name)


def _facings(facts: HouseFacts, piece: Entity) -> Iterator[tuple[str, Link]]:
    if piece.known not in _SEATS or facts.house.graph is not None:
        return
    for cls in sorted(_SIGHTS - {piece.class_name}):
        # A reader has to see at once which of them do, whichever of the class is meant.
        pairs = [
            (one, other)
            for one in facts.of_class[piece.class_name]
            for other in facts.of_class.get(cls, ())
            if facts.room_of(one) == facts.room_of(other)
        ]
        turns = {pair: abs(facts.turn_rad(*pair)) for pair in pairs}
        if any(_FACES_RAD < turn < _AVERTED_RAD for turn in turns.values()):
            continue
        for (one, other), turn in turns.items():
            near = math.dist(facts.entities[one].middle_m, facts.entities[other].middle_m)
            if one == piece.name and turn <= _FACES_RAD and near < _SIGHT_M:
                yield one, Link("FACING", other)


def _navigation(facts: HouseFacts) -> Iterator[Idea]:
    for entity in (*facts.things, *facts.furniture):
        if entity.class_name not in _NEVER_SOUGHT:
            yield Idea(Category.NAVIGATION, entity.name)


def _navigation_relation(facts: HouseFacts) -> Iterator[Idea]:
    for name, link in relations(facts):
        yield Idea(Category.NAVIGATION_RELATION, name, source=link)


def _places(facts: HouseFacts, thing: Entity) -> tuple[tuple[Entity, Relation], ...]:
    """Where a thing belongs and fits, and of whose class no one holds one of its class yet."""
    holder = facts.entities.get(thing.parent)
    if not thing.known or (holder is not None and holder.known in _NEVER_TAKEN_FROM):
        return ()
    return tuple(
        (place, relation)
        for place in facts.furniture
        for relation in (Relation.ON, Relation.WITHIN)
        if place.known
        and is_usual(thing.known, place.known, relation, facts.room_class[place.room])
        and fits_at((thing,), place, relation)
        and not _is_at(facts, thing, place)
    )


def _is_at(facts: HouseFacts, thing: Entity, place: Entity) -> bool:
    """Whether something of a thing's class is on or in something of a place's class."""
    return any(
        any(link.class_name == place.class_name for link in facts.chain(name))
        for name in facts.of_class[thing.class_name]
    )


def _manipulation(facts: HouseFacts) -> Iterator[Idea]:
    for thing in facts.things:
        for place, relation in _places(facts, thing):
            link = Link(_WORDS[relation], place.name)
            yield Idea(Category.MANIPULATION, thing.name, place=link)


def _manipulation_relation(facts: HouseFacts) -> Iterator[Idea]:
    places = {thing.name: _places(facts, thing) for thing in facts.things}
    for name, source in relations(facts):
        for place, relation in places.get(name, ()):
            # "Near a counter onto a counter" leaves open which is which.
            same = (place.class_name, facts.room_class[place.room])
            if facts.class_of(source.name) in same:
                continue
            link = Link(_WORDS[relation], place.name)
            yield Idea(
                Category.MANIPULATION_RELATION, name, source=source, place=link, room=place.room
            )


def _two_objects(facts: HouseFacts) -> Iterator[Idea]:
    places = {thing.name: _places(facts, thing) for thing in facts.things}
    for one, other in itertools.combinations(facts.things, 2):
        if not places[one.name] or not places[other.name] or not are_related(one, other):
            continue
        for place, relation in places[one.name]:
            if (place, relation) not in places[other.name]:
                continue
            if not fits_at((one, other), place, relation):
                continue
            link = Link(_WORDS[relation], place.name)
            yield Idea(Category.TWO_OBJECTS, one.name, second=other.name, place=link)


def _temporal(facts: HouseFacts) -> Iterator[Idea]:
    for holder in facts.things:
        how = nest_relation(holder)
        if how is None:
            continue
        places = _places(facts, holder)
        for thing in facts.things:
            if thing.class_name == holder.class_name or not is_nested(thing, holder):
                continue
            if _holds_class(facts, holder, thing):
                continue
            nest = Link(_WORDS[how], holder.name)
            for place, relation in places:
                if suits_nest(thing, place, facts.room_class[place.room]):
                    link = Link(_WORDS[relation], place.name)
                    yield Idea(Category.TEMPORAL, thing.name, nest=nest, place=link)


def _holds_class(facts: HouseFacts, holder: Entity, thing: Entity) -> bool:
    return any(
        facts.class_of(facts.entities[name].parent) == holder.class_name
        for name in facts.of_class[thing.class_name]
        if facts.entities[name].parent in facts.entities
    )


_MAKERS = {
    Category.NAVIGATION: _navigation,
    Category.NAVIGATION_RELATION: _navigation_relation,
    Category.MANIPULATION: _manipulation,
    Category.MANIPULATION_RELATION: _manipulation_relation,
    Category.TWO_OBJECTS: _two_objects,
    Category.TEMPORAL: _temporal,
}


# Draws ideas evenly: every relation and every class of targets as often as the others.


class Deck:
    """The ideas of a category that were not drawn yet."""

    def __init__(self, facts: HouseFacts, ideas: Iterable[Idea], rng: random.Random) -> None:
        self._rng = rng
        self._piles: dict[str, dict[str, list[Idea]]] = {}
        for idea in ideas:
            kind = _kind(facts, idea)
            classes = self._piles.setdefault(kind, {})
            classes.setdefault(facts.class_of(idea.target), []).append(idea)

    def draw(self) -> Idea | None:
        """The next one; None after the last."""
        if not self._piles:
            return None
        kind = self._rng.choice(list(self._piles))
        classes = self._piles[kind]
        cls = self._rng.choice(list(classes))
        pile = classes[cls]
        at = self._rng.randrange(len(pile))
        pile[at], pile[-1] = pile[-1], pile[at]
        idea = pile.pop()
        if not pile:
            del classes[cls]
        if not classes:
            del self._piles[kind]
        return idea


def _kind(facts: HouseFacts, idea: Idea) -> str:
    link = idea.source or idea.nest or idea.place
    if link is None:
        return "thing" if facts.entities[idea.target].is_thing else "furniture"
    return "room" if _is_room(facts, link) else link.relation


def _is_room(facts: HouseFacts, link: Link) -> bool:
    return link.name in facts.room_class
