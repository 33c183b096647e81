"""What the catalogue says of kinds: what can be done with them, and how big they are."""

from __future__ import annotations

from functools import cache

from planner.language.words import Relation
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.states import default_states
from planner.world.word_meanings import Meaning, default_word_meanings

# Groups of things that have lids or flaps, which the catalogue does not model.
_LIDDED = frozenset({"bags", "books", "containers", "electronics", "games"})
_CLOTH = frozenset({"clothes", "linens"})
# Groups of things that one puts things into, although the catalogue has no hollow for them.
_HOLDERS = frozenset({"bags", "containers", "drinkware"})
# They have a top, but what is brought to them goes inside.
_APPLIANCES = frozenset({"dishwasher", "washer_dryer", "oven", "microwave"})
# So does what is brought to these, unlike what is brought to a sideboard.
_CUPBOARDS = frozenset({"cupboard", "cabinet", "kitchen cabinet", "filing cabinet"})
_BASINS = frozenset({"sink", "bathtub"})
_ANY = frozenset({"", "thing", "furniture", "room", "floor"})


@cache
def affords(kind: str, affordance: str) -> bool:
    """Whether some class that a word covers has an affordance; true of words for anything."""
    found = default_word_meanings().find(kind)
    if kind in _ANY or found is None:
        return True
    catalogue = default_catalogue()
    classes: list[ObjectClass] = [catalogue.objects[name] for name in found.objects]
    pieces = [catalogue.furniture[name] for name in found.furniture]
    if affordance == "openable":
        return any(piece.joints for piece in pieces) or any(
            affordance in item.affordances or not _LIDDED.isdisjoint(item.groups)
            for item in classes
        )
    # "Toast the bread": what it is cut into can be toasted.
    classes += [catalogue.objects[item.slices.class_name] for item in classes if item.slices]
    known = [item.affordances for item in classes] + [item.affordances for item in pieces]
    return any(affordance in affordances for affordances in known) or not (known or found.rooms)


@cache
def affordance_of(state: str) -> str:
    """What a thing must afford to have a state, by the form's word for the state."""
    if state in ("open", "closed"):
        return "openable"
    table = default_states()
    return table.affordance_of[table.by_word()[state][0]]


def can_be(kind: str, state: str) -> bool:
    """Whether something of a kind can have a state; anything can be cleaned or dusted."""
    affordance = affordance_of(state)
    return affordance in ("cleanable", "dustable") or affords(kind, affordance)


@cache
def is_hollow(kind: str) -> bool:
    """Whether what is put into furniture of a kind is said to be in it, not on it."""
    found = default_word_meanings().find(kind)
    if found is None or not found.furniture:
        return False
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    return all(piece.name in _BASINS or not piece.surfaces for piece in pieces)


@cache
def goes_inside(kind: str) -> bool:
    """Whether what goes to furniture of a kind goes into it: "the plates to the dishwasher"."""
    found = default_word_meanings().find(kind)
    return kind in _CUPBOARDS or (
        found is not None
        and not found.objects
        and bool(found.furniture)
        and (found.furniture <= _APPLIANCES)
    )


@cache
def built_in(kind: str) -> bool:
    """Whether nobody would carry anything of a kind: furniture with doors, or a basin."""
    found = default_word_meanings().find(kind)
    if found is None or not found.furniture or found.objects:
        return False
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    return all(piece.joints or piece.name in _BASINS for piece in pieces)


@cache
def resting_relations(kind: str) -> frozenset[Relation]:
    """Whether things are put on or into everything of a kind, by its classes; empty if they differ.

    A basin is both: what is at or on a sink is in it.
    """
    found = default_word_meanings().find(kind)
    if kind == "floor":
        return frozenset({Relation.ON_TOP})
    if found is None or bool(found.objects) + bool(found.furniture) + bool(found.rooms) != 1:
        return frozenset()
    if found.rooms or is_hollow(kind):
        return frozenset({Relation.IN})
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    things = [default_catalogue().objects[name] for name in found.objects]
    tops = {bool(piece.surfaces) for piece in pieces} | {bool(thing.top) for thing in things}
    hollows = {bool(piece.interiors) for piece in pieces} | {bool(t.hollow) for t in things}
    if len(tops) > 1 or len(hollows) > 1:
        return frozenset()
    return frozenset(
        relation
        for relation, possible in ((Relation.ON_TOP, tops), (Relation.IN, hollows))
        if True in possible
    )


@cache
def can_hold(kind: str, relation: Relation) -> bool:
    """Whether one would put things on or in a thing of a kind; true of all other relations."""
    found = default_word_meanings().find(kind)
    if relation not in (Relation.ON_TOP, Relation.IN) or found is None or not found.objects:
        return True
    things = [default_catalogue().objects[name] for name in found.objects]
    if relation is Relation.IN:
        return any(
            thing.hollow or "fillable" in thing.affordances or not _HOLDERS.isdisjoint(thing.groups)
            for thing in things
        )
    return any(thing.top for thing in things)


@cache
def drapes(kind: str) -> bool:
    """Whether things of a kind are laid over others, such as towels and clothes."""
    found = default_word_meanings().find(kind)
    objects = [default_catalogue().objects[name] for name in found.objects] if found else []
    return bool(objects) and all(not _CLOTH.isdisjoint(item.groups) for item in objects)


@cache
def includes(kind: str, other: str) -> bool:
    """Whether everything of another kind is also of this one."""
    if kind == "thing" or kind == other:
        return True
    outer, inner = default_word_meanings().find(kind), default_word_meanings().find(other)
    if outer is None or inner is None:
        return False
    return (
        inner.objects <= outer.objects
        and inner.furniture <= outer.furniture
        and inner.rooms <= outer.rooms
        and inner != Meaning()
    )


@cache
def too_big(kind: str, container: str, *, inside: bool) -> bool:
    """Whether nothing of a kind can be in or on anything of another: "the bathtub in the teacup".

    Furniture is in nothing but rooms, and on nothing but the floor and furniture.
    """
    inner, outer = default_word_meanings().find(kind), default_word_meanings().find(container)
    if inner is None or outer is None or outer.rooms:
        return False
    if inner.furniture and not inner.objects:
        return True
    if not inside or outer.furniture or not outer.objects or not inner.objects or inner.rooms:
        return False
    catalogue = default_catalogue()
    smallest = min(sorted(catalogue.objects[name].size_m)[1] for name in inner.objects)
    largest = max(max(catalogue.objects[name].size_m) for name in outer.objects)
    return smallest > 1.5 * largest
