"""Which combinations make sense, by rule: sizes, what holds what, and what belongs together.

These stand in for the filter of a model (ETPLAN-2.1): a thing goes where the catalogue says that
its class is usually found, two things go together if they are of a kind, and a thing is nested in
another one only where people do that to keep order or to serve.
"""

from __future__ import annotations

from functools import lru_cache

from planner.episodes.et_generation.house_facts import Entity, HouseFacts, object_class
from planner.world.catalogue import default_catalogue
from planner.world.put_spots import sides_along
from planner.world.vocabulary import Relation

# Where people put things while they tidy up; seats and the like are no such places.
_NO_PLACES = frozenset(
    {"chair", "stool", "toilet", "shower", "oven", "bathtub", "sink", "armchair"}
)
# Nobody says that a thing goes into a counter.
_NO_INSIDES = frozenset({("counter", Relation.WITHIN), ("desk", Relation.WITHIN)})
# Left lying there, but not put there.
_NOT_ON_SEATS = frozenset(
    {"electronic_cable", "radio", "speaker", "camera", "router", "power_strip"}
)
# Groups too wide to make two things a pair.
_WIDE = frozenset(
    {"electronics", "decor", "containers", "bags", "appliances", "textiles", "groceries", "pets"}
)
_EATING = frozenset({"kitchen", "dining_room", "living_room"})
_FOOD_SERVED = frozenset({"table", "counter", "fridge"})
# What is put into or onto what: groups and classes of things, by the class of the holder.
_NESTED: dict[str, frozenset[str]] = {
    "bowl": frozenset({"fruit", "vegetables", "egg"}),
    "mixing_bowl": frozenset({"fruit", "vegetables", "egg"}),
    "pot": frozenset({"vegetables", "egg"}),
    "pan": frozenset({"egg", "salmon", "cutlet", "chicken"}),
    "basket": frozenset({"fruit", "vegetables", "toys", "linens", "clothes", "toiletries"}),
    "storage_box": frozenset(
        {"toys", "tools", "clothes", "office_supplies", "games", "sports", "accessories"}
    ),
    "bucket": frozenset({"sponge", "spray_bottle", "detergent_bottle", "soap"}),
    "plate": frozenset({"fruit", "desserts", "bread_slice", "bread"}),
    "tray": frozenset({"drinkware", "desserts", "bowl", "plate", "fruit", "cutlery"}),
}
# Nobody nests these, whatever their group.
_NEVER_NESTED = frozenset({"rug", "blanket", "hanger", "umbrella", "baseballbat", "yoga_mat"})
_MARGIN = 0.9


@lru_cache(maxsize=4096)
def is_usual(class_name: str, furniture: str, relation: Relation, room: str) -> bool:
    """Whether the catalogue has a class of things usually there."""
    if furniture in _NO_PLACES or (furniture, relation) in _NO_INSIDES:
        return False
    if furniture == "couch" and class_name in _NOT_ON_SEATS:
        return False
    return any(
        place.furniture == furniture
        and place.relation is relation
        and (not place.rooms or room in place.rooms)
        for place in default_catalogue().objects[class_name].places
    )


def groups_of(thing: Entity) -> frozenset[str]:
    """The groups of a thing that make two of them a pair."""
    cls = object_class(thing)
    return frozenset() if cls is None else frozenset(cls.groups) - _WIDE


def are_related(one: Entity, other: Entity) -> bool:
    """Whether two things are of a kind, as two fruits are."""
    return one.class_name != other.class_name and bool(groups_of(one) & groups_of(other))


def is_nested(thing: Entity, holder: Entity) -> bool:
    """Whether people put a thing into, or onto, another one before they carry both."""
    cls = object_class(thing)
    fitting = _NESTED.get(holder.known, frozenset())
    if cls is None or thing.known in _NEVER_NESTED:
        return False
    return (cls.name in fitting or not fitting.isdisjoint(cls.groups)) and fits_in_thing(
        thing, holder
    )


def nest_relation(holder: Entity) -> Relation | None:
    """How things are at a thing that holds others; None if it holds none."""
    cls = object_class(holder)
    if cls is None or not cls.holds_things:
        return None
    return Relation.WITHIN if cls.hollow is not None else Relation.ON


def suits_nest(thing: Entity, place: Entity, room: str) -> bool:
    """Whether furniture in a class of room suits a holder with this thing in it.

    Food is served or kept cool; anything else goes where it is usually found.
    """
    cls = object_class(thing)
    if cls is None:
        return False
    food = "food" in cls.groups or "drinkware" in cls.groups or "cutlery" in cls.groups
    if food:
        return place.known in _FOOD_SERVED and room in _EATING
    return any(
        is_usual(thing.known, place.known, relation, room)
        for relation in (Relation.ON, Relation.WITHIN)
    )


def fits_in_thing(thing: Entity, holder: Entity) -> bool:
    """Whether a thing is smaller than another one and fits its hollow or top."""
    cls = object_class(holder)
    if cls is None or thing.volume_m3 >= holder.volume_m3:
        return False
    if cls.hollow is not None:
        return _covers(cls.hollow.size_m[:2], thing) and thing.size_m[2] <= 2 * holder.size_m[2]
    return cls.top is not None and _covers(cls.top.size_m, thing)


def fits_at(things: tuple[Entity, ...], place: Entity, relation: Relation) -> bool:
    """Whether things fit onto one surface of furniture, or into one of its hollows.

    Nobody turns a thing before putting it on a surface, so it must not stick out as it is.
    """
    piece = place.piece
    if piece is None:
        return False
    need_m2 = sum(t.size_m[0] * t.size_m[1] for t in things)
    tall_m = max(t.size_m[2] for t in things)
    if relation is Relation.ON:
        return any(
            need_m2 <= _MARGIN * s.size[0] * s.size[1]
            and all(_bears(s.size, sides_along(piece, t.size_m)) for t in things)
            for s in piece.surfaces
        )
    return any(
        need_m2 <= _MARGIN * h.size[0] * h.size[1]
        and tall_m <= h.size[2]
        and all(_covers(h.size[:2], t) for t in things)
        for h in piece.interiors
    )


def _bears(size_m: tuple[float, float], sides_m: tuple[float, float]) -> bool:
    return all(side <= size for side, size in zip(sides_m, size_m, strict=True))


def _covers(size_m: tuple[float, ...], thing: Entity) -> bool:
    (low, high), (one, other) = sorted(size_m[:2]), sorted(thing.size_m[:2])
    return one <= low and other <= high


def stands_out(facts: HouseFacts, name: str) -> bool:
    """Whether an entity says where something is: there are few of its class."""
    return len(facts.of_class[facts.class_of(name)]) <= 2
