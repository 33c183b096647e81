"""What templates need to know of a house: things, furniture, rooms, relations (ETPLAN-2.1).

The same for our houses and for scene graphs, whose classes may be unknown to the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

from planner.episodes.virtualhome.words import VirtualHomeWords, WordKind
from planner.world.catalogue import FurnitureClass, ObjectClass, default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
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
def _words() -> VirtualHomeWords:
    return VirtualHomeWords(default_catalogue())


def _known(class_name: str, kind: WordKind) -> str:
    """A class in the catalogue; of a graph's words only those that mean exactly one of ours."""
    found = _words().find(class_name)
    if found is None or found.nearest or found.kind is not kind:
        return ""
    return found.class_name


def _thing(item: ObjectPlacement, room: str) -> Entity:
    x, y, z, yaw_rad = item.pose
    return Entity(
        name=item.name,
        class_name=item.class_name,
        known=_known(item.class_name, WordKind.OBJECT),
        room=room,
        middle_m=(x, y, z + item.size_m[2] / 2),
        size_m=_turned(item.size_m, yaw_rad),
        parent=item.parent,
        relation=item.relation,
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
