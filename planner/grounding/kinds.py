"""Which known things a noun can mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from planner.grounding.scene import Scene, Thing
from planner.language.description import Description, NounPhrase
from planner.language.words import GENERIC_KINDS
from planner.world.catalogue import default_catalogue, word_key
from planner.world.vocabulary import EntityKind
from planner.world.word_meanings import Meaning, default_word_meanings

# Aliases of one class that say more than the class: in which rooms such furniture stands.
_ROOMS_OF: Mapping[str, frozenset[str]] = {
    "coffee table": frozenset({"living_room"}),
    "living room table": frozenset({"living_room"}),
    "dining table": frozenset({"dining_room"}),
    "dining chair": frozenset({"dining_room"}),
    "desk chair": frozenset({"office"}),
    "office chair": frozenset({"office"}),
    "bathroom sink": frozenset({"bathroom"}),
}
# Where such furniture stands in houses without these rooms.
_ELSE_IN: Mapping[str, frozenset[str]] = {"dining table": frozenset({"kitchen"})}
_GENERIC = {
    "thing": EntityKind.OBJECT,
    "furniture": EntityKind.FURNITURE,
    "room": EntityKind.ROOM,
}


def of_kind(kind: str, scene: Scene, *, anywhere: bool = False) -> list[Thing]:
    """The known things that a noun can mean, by name; `anywhere`, not only in its usual rooms."""
    if kind == "floor":
        return [t for t in scene.of_kind(EntityKind.FURNITURE) if t.is_floor]
    if kind in _GENERIC:
        return [t for t in scene.of_kind(_GENERIC[kind]) if not t.is_floor]
    found = [
        thing
        for level in (EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM)
        for thing in scene.of_kind(level)
        if _means(kind, thing)
    ]
    if not found:
        found = [thing for thing in scene.slices if _means(kind, thing)]
    if anywhere:
        return found
    for rooms in (_ROOMS_OF.get(kind, frozenset()), _ELSE_IN.get(kind, frozenset())):
        usual = [t for t in found if _class_of(scene.things.get(t.room or "")) in rooms]
        if usual:
            return usual
    return found


def usual_rooms(kind: str) -> frozenset[str]:
    """The classes of rooms that a word for furniture implies, as "coffee table" does."""
    return _ROOMS_OF.get(kind, frozenset())


def classes_of(kind: str) -> tuple[str, ...]:
    """The classes of objects and furniture that a noun can mean; empty for any thing."""
    meaning = _meaning(kind)
    return tuple(sorted(meaning.objects | meaning.furniture))


def can_open(phrase: NounPhrase) -> bool:
    """Whether something that a phrase means may open: agents open furniture only."""
    if not isinstance(phrase, Description) or phrase.kind in GENERIC_KINDS:
        return True
    classes, furniture = classes_of(phrase.kind), default_catalogue().furniture
    return not classes or any(name in furniture for name in classes)


def is_room_kind(kind: str) -> bool:
    """Whether a noun means rooms."""
    return kind == "room" or bool(_meaning(kind).rooms)


def _means(kind: str, thing: Thing) -> bool:
    meaning, name = _meaning(kind), _known_class(thing.kind, thing.class_name)
    if thing.kind is EntityKind.ROOM:
        return name in meaning.rooms
    classes = meaning.objects if thing.kind is EntityKind.OBJECT else meaning.furniture
    if name in classes:
        return True
    only_can = meaning.affordances and not (meaning.objects or meaning.furniture)
    return bool(only_can) and not meaning.affordances.isdisjoint(thing.affordances)


def _class_of(thing: Thing | None) -> str:
    return "" if thing is None else _known_class(thing.kind, thing.class_name)


@cache
def _known_class(kind: EntityKind, class_name: str) -> str:
    """The catalogue's class for a class that may be a model's free text."""
    catalogue = default_catalogue()
    find = {
        EntityKind.OBJECT: catalogue.object_name,
        EntityKind.FURNITURE: catalogue.furniture_name,
        EntityKind.ROOM: catalogue.room_name,
    }.get(kind)
    return class_name if find is None else find(class_name) or class_name


@cache
def _meaning(kind: str) -> Meaning:
    """What a noun means; "cup" is that class, not also a measuring cup."""
    if kind in GENERIC_KINDS:
        return Meaning()
    found = default_word_meanings().find(kind) or Meaning()
    exact = {name for name in found.objects if word_key(name) == kind}
    return replace(found, objects=frozenset(exact)) if exact else found
