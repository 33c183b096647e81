"""Resolves phrases in a scene to objects, furniture and rooms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.episodes.goals.scene import Piece, Scene, Thing
from planner.episodes.goals.statements import Amount, Phrase, Place, Relation, Things
from planner.episodes.wording import PLURAL_ONLY

# Furniture for which "to the ..." means inside, not on top.
CONTAINERS = frozenset({
    "cabinet", "wardrobe", "fridge", "washer_dryer", "dishwasher", "microwave", "oven",
    "trash_can", "toy_box", "hamper", "filing_cabinet",
})  # fmt: skip
# "To the chest of drawers" may mean on top or in a drawer.
EITHER_ON_OR_IN = frozenset({"chest_of_drawers", "nightstand"})


class UnclearError(Exception):
    """Words without exactly one meaning in the scene; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Each of these things, or `number` of them if given."""

    things: tuple[Thing, ...]
    number: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The things' names."""
        return tuple(thing.name for thing in self.things)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a thing is at some point of the instruction: one of these, by the plan so far."""

    furniture: frozenset[str]
    rooms: frozenset[str]
    planned: bool = False
    step: int = -1


Spots = Mapping[str, Spot]


def start_spots(scene: Scene) -> dict[str, Spot]:
    """Where every object is before anything is done."""
    return {
        thing.name: Spot(frozenset({thing.parent}), frozenset({thing.room}))
        for thing in scene.objects
    }


def select(things: Things, origin: Place | None, scene: Scene, spots: Spots) -> list[Selection]:
    """The objects that a list of phrases refers to.

    Raises:
        UnclearError: if a phrase fits no object, or more objects than its amount allows.
    """
    pools = [_pool(phrase, origin, scene, spots) for phrase in things.phrases]
    selections: list[Selection] = []
    taken: dict[str, int] = {}
    for phrase, pool in zip(things.phrases, pools, strict=True):
        if _counts_one(phrase) and len(pool) > 1:
            if phrase.amount is Amount.ANY and pools.count(pool) == 1:
                selections.append(Selection(pool, 1))
                continue
            # "the plant and plant container": as many phrases as things, one each.
            mentions = zip(things.phrases, pools, strict=True)
            alike = sum(p == pool and _counts_one(f) for f, p in mentions)
            if alike != len(pool):
                raise UnclearError(f'"{phrase.noun.text}" may be any of {len(pool)}')
            at = taken.get(pool[0].name, 0)
            taken[pool[0].name] = at + 1
            selections.append(Selection((pool[at],)))
        else:
            selections += _several(phrase, pool)
    names = [name for selection in selections for name in selection.names]
    if len(set(names)) != len(names):
        raise UnclearError("two phrases mean the same object")
    return selections


def _pool(phrase: Phrase, origin: Place | None, scene: Scene, spots: Spots) -> tuple[Thing, ...]:
    known = [thing for thing in scene.objects if thing.class_name in phrase.noun.classes]
    pool = tuple(t for t in known if origin is None or is_at(origin, t, scene, spots))
    if not known:
        raise UnclearError(f'the episode has no "{phrase.noun.text}"')
    if not pool:
        raise UnclearError(f'no "{phrase.noun.text}" is where the instruction says')
    return pool


def _counts_one(phrase: Phrase) -> bool:
    noun = phrase.noun
    return not noun.plural and not noun.mass and phrase.number in {None, 1}


def _several(phrase: Phrase, pool: tuple[Thing, ...]) -> list[Selection]:
    """The selections of a phrase that refers to its whole pool, or to a number from it."""
    text, number = phrase.noun.text, phrase.number
    each = [Selection((thing,)) for thing in pool]
    if phrase.amount is Amount.SOME:
        raise UnclearError(f'"some {text}" does not say how many')
    if number is not None:
        if number == len(pool):
            return each
        if number > len(pool) or phrase.amount is not Amount.ANY:
            raise UnclearError(f'"{number} {text}" is said of {len(pool)}')
        return [Selection(pool, number)]
    if phrase.noun.mass and len(pool) > 1 and phrase.amount not in {Amount.THE, Amount.ALL}:
        raise UnclearError(f'"{text}" does not say how much of {len(pool)}')
    if phrase.noun.plural and phrase.amount is Amount.BARE and len(pool) > 2:
        raise UnclearError(f'"{text}" does not say how many of {len(pool)}')
    if phrase.noun.plural and phrase.amount is Amount.ANY and len(pool) > 1:
        raise UnclearError(f'"a {text}" does not say how many of {len(pool)}')
    if phrase.noun.plural and phrase.noun.text not in PLURAL_ONLY and len(pool) == 1:
        raise UnclearError(f'"{text}" is said of one thing')
    return each


def is_at(place: Place, thing: Thing, scene: Scene, spots: Spots) -> bool:
    """Whether a thing is at a place named as its origin; a purpose ("coffee") is not checked.

    Raises:
        UnclearError: if the origin is given relative to other places.
    """
    if place.other or place.same or place.holder or any(r.other for r in place.rooms):
        raise UnclearError("the origin is named by comparison")
    spot = spots[thing.name]
    rooms = {scene.rooms[room] for room in spot.rooms}
    said = [room.noun.classes for room in place.rooms]
    if said and not any(rooms & classes for classes in said):
        return False
    if place.floor:
        return any(name not in scene.pieces for name in spot.furniture)
    if place.furniture is None:
        return True
    pieces = [scene.pieces[name] for name in spot.furniture if name in scene.pieces]
    return any(piece.class_name in place.furniture.classes for piece in pieces)


def named_rooms(place: Place, moved: Iterable[Thing], scene: Scene, spots: Spots) -> list[str]:
    """The rooms that a place's own words allow; all rooms if it names none."""
    if not place.rooms:
        return list(scene.rooms)
    here = {room for thing in moved for room in spots[thing.name].rooms}
    found: list[str] = []
    for phrase in place.rooms:
        rooms = scene.rooms_of_class(phrase.noun.classes)
        found += [room for room in rooms if not (phrase.other and room in here)]
    if not found:
        raise UnclearError(f'the house has no such "{place.rooms[0].noun.text}"')
    return found


def pieces_at(place: Place, rooms: Iterable[str], scene: Scene, spots: Spots) -> list[Piece]:
    """The furniture that a place may refer to in these rooms.

    Raises:
        UnclearError: if there is none.
    """
    if place.furniture is None:
        raise UnclearError("the place is not furniture")
    allowed = set(rooms)
    found = [
        piece
        for piece in scene.furniture
        if piece.class_name in place.furniture.classes and piece.room in allowed
    ]
    for phrase in place.holder:
        holders = {
            name
            for thing in scene.objects
            if thing.class_name in phrase.noun.classes
            for name in spots[thing.name].furniture
        }
        found = [piece for piece in found if piece.name in holders]
    if not found:
        raise UnclearError(f'no "{place.furniture.text}" fits')
    if place.holder and len(found) > 1:
        raise UnclearError(f'more than one "{place.furniture.text}" fits')
    return found


def predicate(relation: Relation, pieces: list[Piece]) -> tuple[str, list[Piece]]:
    """The predicate for a preposition, and the pieces that can satisfy it.

    Raises:
        UnclearError: if on top and inside are both possible and the wording does not choose.
    """
    classes = {piece.class_name for piece in pieces}
    if relation is Relation.TO:
        if classes & EITHER_ON_OR_IN:
            raise UnclearError("on top or inside is not said")
        relation = Relation.IN if classes <= CONTAINERS else Relation.ON
    if relation is Relation.IN:
        able = [piece for piece in pieces if piece.has_interior]
        # "in the shelves" means on one of their boards.
        if not able and classes <= {"shelves", "shoe_rack"}:
            return "is_on_top", pieces
        function = "is_inside"
    else:
        able = [piece for piece in pieces if piece.has_surface]
        function = "is_on_top"
    if not able:
        raise UnclearError(f"nothing can be {relation.value} a {sorted(classes)[0]}")
    return function, able
