"""Places that are not described: where things belong, where they were, what has a purpose."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from planner.grounding.scene import Scene, Thing, classes_of
from planner.language.goal_form import Anchor, Description, Goal, Mention, Move
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.vocabulary import EntityKind, Relation

# In which room such furniture stands says what it is for, unlike that of a table.
_WITH_A_USE = frozenset({"sink", "cabinet", "counter", "shelves"})
# Things that are kept in or on these are used in their room.
_OF_A_ROOM = frozenset({"sink", "cabinet", "counter", "dishwasher", "fridge", "oven"})
# Predicate and names of its second list.
Target = tuple[str, tuple[str, ...]]


def start_of(scene: Scene, thing: Thing) -> Target | None:
    """Where a thing is; None if that is unknown."""
    parent = scene.things.get(thing.parent or "")
    if parent is None or parent.kind not in (EntityKind.FURNITURE, EntityKind.OBJECT):
        return None if thing.room is None else ("is_in_room", (thing.room,))
    within = thing.relation is Relation.WITHIN and parent.hollow
    return ("is_inside" if within else "is_on_top", (parent.name,))


def usual_for(scene: Scene, thing: Thing) -> Target | None:
    """Where a thing belongs, by the likely places of its class; None if there is no such place."""
    catalogue = default_catalogue()
    name = catalogue.object_name(thing.class_name)
    if name is None:
        return None
    found: dict[str, dict[str, float]] = {"is_on_top": {}, "is_inside": {}}
    for place in catalogue.objects[name].places:
        predicate = "is_inside" if place.relation is Relation.WITHIN else "is_on_top"
        for piece in scene.of_kind(EntityKind.FURNITURE):
            room = scene.things.get(piece.room or "")
            there = not place.rooms or (room is not None and room.class_name in place.rooms)
            able = piece.hollow if predicate == "is_inside" else piece.surface
            if piece.class_name == place.furniture and there and able:
                found[predicate][piece.name] = found[predicate].get(piece.name, 0) + place.weight
    # One proposition has one predicate: the likelier one, of which the present place is likeliest.
    start = start_of(scene, thing)
    for predicate, pieces in found.items():
        if start is not None and start[0] == predicate and start[1][0] in pieces:
            return predicate, tuple(pieces)
    best = max(found, key=lambda predicate: max(found[predicate].values(), default=0.0))
    return (best, tuple(found[best])) if found[best] else None


def elsewhere_for(scene: Scene, thing: Thing, room: str | None) -> Target | None:
    """Anywhere but where a thing is: on other furniture, or in other rooms if a room is given."""
    if room is not None:
        rooms = [other.name for other in scene.of_kind(EntityKind.ROOM) if other.name != room]
        return ("is_in_room", tuple(rooms)) if rooms else None
    taken = {thing.parent, *(holder.name for holder in scene.holders(thing.name))}
    pieces = [
        piece.name
        for piece in scene.of_kind(EntityKind.FURNITURE)
        if piece.surface and not piece.is_floor and piece.name not in taken
    ]
    return ("is_on_top", tuple(pieces)) if pieces else None


def likely_pieces(scene: Scene, kinds: Iterable[str]) -> frozenset[str]:
    """Of furniture with a use, that which things of all these kinds usually are on or in.

    "The sink" for plates is the one of the kitchen, where they are kept. Kinds that are found
    anywhere do not count.
    """
    catalogue = default_catalogue()
    found: frozenset[str] | None = None
    for kind in kinds:
        names = [name for name in classes_of(kind) if name in catalogue.objects]
        places = [place for name in names for place in catalogue.objects[name].places]
        rooms = {room for p in places if p.furniture in _OF_A_ROOM for room in p.rooms}
        usable = [t for t in scene.of_kind(EntityKind.FURNITURE) if t.class_name in _WITH_A_USE]
        pieces = frozenset(
            piece.name
            for piece in usable
            for place in places
            if piece.class_name == place.furniture and _class_of_room(scene, piece) in place.rooms
        )
        classes = {scene.things[name].class_name for name in pieces}
        pieces |= {
            piece.name
            for piece in usable
            if piece.class_name not in classes and _class_of_room(scene, piece) in rooms
        }
        if pieces:
            found = pieces if found is None else found & pieces
    return found or frozenset()


def too_small_for(scene: Scene, kinds: Iterable[str], names: Collection[str]) -> frozenset[str]:
    """Of some furniture, what no thing of one of the kinds fits into.

    Sizes are those of the catalogue. Empty if nothing would be left: things may be smaller.
    """
    objects = default_catalogue().objects
    sizes = [
        [objects[name].size_m for name in classes_of(kind) if name in objects] for kind in kinds
    ]
    small = {
        name
        for name in names
        if (hollows := scene.things[name].hollows_m)
        and any(
            of_kind and not any(_goes_in(size, hollow) for size in of_kind for hollow in hollows)
            for of_kind in sizes
        )
    }
    return frozenset() if small == set(names) else frozenset(small)


def _goes_in(size_m: Vec3, hollow_m: Vec3) -> bool:
    flat, room = sorted(size_m[:2]), sorted(hollow_m[:2])
    return flat[0] <= room[0] and flat[1] <= room[1] and size_m[2] <= hollow_m[2]


def _class_of_room(scene: Scene, piece: Thing) -> str:
    room = scene.things.get(piece.room or "")
    return "" if room is None else room.class_name


# What tells the descriptions of a goal apart.


def key_of(phrase: Anchor, path: str) -> str:
    """The same for the same definite description wherever it stands, else for its place only."""
    if isinstance(phrase, Description) and phrase.definite and not phrase.each:
        same = phrase.model_copy(update={"label": None})
        return same.model_dump_json(by_alias=True, exclude_defaults=True)
    return path


# Which furniture is meant anywhere in an instruction, by what it has put there.
#
# "Open the cabinet, put the plates inside, close it": the cabinet is one for plates from the start.


def purposes(goal: Goal, scene: Scene) -> Mapping[str, frozenset[str]]:
    """The likely furniture for definite descriptions of places, by their keys."""
    labels = {
        phrase.label: phrase
        for phrase in goal.phrases()
        if isinstance(phrase, Description) and phrase.label is not None
    }

    def described(phrase: Anchor) -> Description | None:
        if isinstance(phrase, Mention):
            return labels.get(phrase.label)
        return phrase if isinstance(phrase, Description) else None

    found: dict[str, frozenset[str]] = {}
    for request in goal.requests:
        if not isinstance(request, Move):
            continue
        things = [thing for phrase in request.things if (thing := described(phrase)) is not None]
        likely = likely_pieces(scene, [thing.kind for thing in things])
        for place in request.to:
            anchor = described(place.anchor)
            if anchor is not None and anchor.definite and likely:
                found.setdefault(key_of(anchor, ""), likely)
    return found
