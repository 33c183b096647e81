"""What templates need to know of a house, and which combinations make sense in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

from planner.episodes.importing.simulator_words import SimulatorWords, WordKind
from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.receptacle import ThingShape, known_shape, sides_along
from planner.world.vocabulary import Relation, floor_name

# ETPLAN-3.1.
_CLOSE_M = 1.5


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing or a piece of furniture.

    Attributes:
        known: its class in the catalogue; "" if there is none.
        parent: what a thing is on or within: furniture, another thing or a floor.
        middle_m: of its box, in `map`.
        size_m: along the map's axes.
        shape: what can be put into or onto a thing, for its own size.
    """

    name: str
    class_name: str
    known: str
    room: str
    middle_m: Vec3
    size_m: Vec3
    parent: str = ""
    relation: Relation | None = None
    piece: Furniture | None = None
    shape: ThingShape = field(default_factory=ThingShape)

    @property
    def is_thing(self) -> bool:
        """Whether it can be carried."""
        return self.piece is None

    @property
    def volume_m3(self) -> float:
        """The volume of its box."""
        return math.prod(self.size_m)

    @property
    def opens(self) -> bool:
        """Whether it is furniture that opens."""
        return self.piece is not None and bool(self.piece.joints)


@dataclass(frozen=True)
class HouseFacts:
    """One house before anything is done."""

    house: House
    entities: dict[str, Entity] = field(default_factory=dict)
    room_class: dict[str, str] = field(default_factory=dict)

    @cached_property
    def things(self) -> tuple[Entity, ...]:
        """All things, by name."""
        return tuple(e for _, e in sorted(self.entities.items()) if e.is_thing)

    @cached_property
    def furniture(self) -> tuple[Entity, ...]:
        """All pieces of furniture, by name."""
        return tuple(e for _, e in sorted(self.entities.items()) if not e.is_thing)

    @cached_property
    def of_class(self) -> dict[str, tuple[str, ...]]:
        """The names of each class of things, furniture and rooms."""
        found: dict[str, list[str]] = {}
        for name, entity in sorted(self.entities.items()):
            found.setdefault(entity.class_name, []).append(name)
        for name, cls in sorted(self.room_class.items()):
            found.setdefault(cls, []).append(name)
        return {cls: tuple(names) for cls, names in found.items()}

    def class_of(self, name: str) -> str:
        """The class of an entity or room."""
        return self.room_class[name] if name in self.room_class else self.entities[name].class_name

    def room_of(self, name: str) -> str:
        """The room of an entity; a room is its own."""
        return name if name in self.room_class else self.entities[name].room

    def chain(self, name: str) -> Iterator[Entity]:
        """A thing, what it is on or in, and so on, up to furniture or what lies on a floor."""
        entity = self.entities.get(name)
        while entity is not None:
            yield entity
            entity = self.entities.get(entity.parent)

    def closed_around(self, name: str) -> tuple[str, ...]:
        """The furniture that has to be opened to reach a thing, the outermost first."""
        found = [
            holder.name
            for thing, holder in pairwise(self.chain(name))
            if thing.relation is Relation.WITHIN and holder.opens
        ]
        return tuple(reversed(found))

    def holds(self, relation: str, one: str, other: str) -> bool:
        """Whether ON, INSIDE, CLOSE or FACING holds at the start, by placements and boxes."""
        entity = self.entities[one]
        if other in self.room_class:
            return entity.room == other
        if relation == "ON":
            return entity.relation is Relation.ON and entity.parent == other
        if relation == "INSIDE":
            return any(
                link.relation is Relation.WITHIN and link.parent == other
                for link in self.chain(one)
            )
        if relation == "CLOSE":
            return self.gap_m(one, other) < _CLOSE_M
        return abs(self.turn_rad(one, other)) < math.pi / 2 and entity.room == self.room_of(other)

    def gap_m(self, one: str, other: str) -> float:
        """The smaller distance from the middle of one of two entities to the other's box."""
        a, b = self.entities[one], self.entities[other]
        return min(_gap_m(a, b), _gap_m(b, a))

    def turn_rad(self, one: str, other: str) -> float:
        """By how much furniture's front is turned away from an entity; 0 = it faces it."""
        a, b = self.entities[one], self.entities[other]
        yaw = a.piece.yaw_rad if a.piece is not None else 0.0
        across = math.atan2(b.middle_m[1] - a.middle_m[1], b.middle_m[0] - a.middle_m[0])
        return math.remainder(across - yaw, math.tau)


def facts_of(house: House) -> HouseFacts:
    """Reads a house."""
    facts = HouseFacts(house)
    for room in house.rooms:
        facts.room_class[room.name] = room.class_name
    for piece in house.furniture:
        facts.entities[piece.name] = _piece(piece)
    waiting = list(house.objects)
    # A thing may come before the one that it is on.
    for _ in range(len(waiting) + 1):
        later = []
        for item in waiting:
            within = _room(facts, item)
            if within is None:
                later.append(item)
            else:
                facts.entities[item.name] = _thing(item, within)
        if not later or len(later) == len(waiting):
            break
        waiting = later
    return facts


def _room(facts: HouseFacts, item: ObjectPlacement) -> str | None:
    holder = facts.entities.get(item.parent)
    if holder is not None:
        return holder.room
    room = item.parent.removeprefix(floor_name(""))
    return room if room in facts.room_class else None


@lru_cache(maxsize=1)
def _words() -> SimulatorWords:
    return SimulatorWords(default_catalogue())


def _known(class_name: str, kind: WordKind) -> str:
    """A class in the catalogue; of a graph's words only those that mean exactly one of ours."""
    found = _words().find(class_name)
    if found is None or found.nearest or found.kind is not kind:
        return ""
    return found.class_name


def _thing(item: ObjectPlacement, room: str) -> Entity:
    x, y, z, yaw_rad = item.pose
    known = _known(item.class_name, WordKind.OBJECT)
    return Entity(
        name=item.name,
        class_name=item.class_name,
        known=known,
        room=room,
        middle_m=(x, y, z + item.size_m[2] / 2),
        size_m=_turned(item.size_m, yaw_rad),
        parent=item.parent,
        relation=item.relation,
        shape=known_shape(known, item.size_m),
    )


def _piece(piece: Furniture) -> Entity:
    return Entity(
        name=piece.name,
        class_name=piece.class_name,
        known=_known(piece.class_name, WordKind.FURNITURE),
        room=piece.room,
        middle_m=(piece.x_m, piece.y_m, piece.size_m[2] / 2),
        size_m=_turned(piece.size_m, piece.yaw_rad),
        piece=piece,
    )


def _turned(size_m: Vec3, yaw_rad: float) -> Vec3:
    cos, sin = abs(math.cos(yaw_rad)), abs(math.sin(yaw_rad))
    return (size_m[0] * cos + size_m[1] * sin, size_m[0] * sin + size_m[1] * cos, size_m[2])


def _gap_m(one: Entity, other: Entity) -> float:
    return math.hypot(
        *(
            max(0.0, abs(one.middle_m[axis] - other.middle_m[axis]) - other.size_m[axis] / 2)
            for axis in (0, 1)
        )
    )


def object_class(entity: Entity) -> ObjectClass | None:
    """The catalogue's class of a thing."""
    return default_catalogue().objects.get(entity.known) if entity.is_thing else None


def furniture_class(entity: Entity) -> FurnitureClass | None:
    """The catalogue's class of a piece of furniture."""
    return None if entity.is_thing else default_catalogue().furniture.get(entity.known)


# Which combinations make sense, by rule: sizes, what holds what, and what belongs together.
#
# These stand in for the filter of a model (ETPLAN-2.1): a thing goes where the catalogue says that
# its class is usually found, two things go together if they are of a kind, and a thing is nested in
# another one only where people do that to keep order or to serve.

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
    if thing.volume_m3 >= holder.volume_m3:
        return False
    hollow, top = holder.shape.hollow, holder.shape.top
    if hollow is not None:
        return _covers(hollow.size[:2], thing) and thing.size_m[2] <= 2 * holder.size_m[2]
    return top is not None and _covers(top.size, thing)


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
