"""What can be put into or onto an object: its hollow and its top, as declared by its class."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Interior, ObjectPlacement, Surface
from planner.world.record import record
from planner.world.vocabulary import Relation

HOLLOW_PART = "hollow"
TOP_PART = "top"


@record
class ThingShape:
    """The hollow and top of an object, in its own frame: origin in the middle of its underside.

    Attributes:
        hollow: open at its upper end; None if nothing can be put into the object.
        top: None if nothing can be put onto the object.
    """

    hollow: Interior | None = None
    top: Surface | None = None

    @property
    def rests_m(self) -> tuple[float, ...]:
        """The heights above the object's underside at which other things rest."""
        found = []
        if self.hollow is not None:
            found.append(self.hollow.center[2] - self.hollow.size[2] / 2)
        if self.top is not None:
            found.append(self.top.center[2])
        return tuple(found)


_PLAIN = ThingShape()


def shape_of(cls: ObjectClass, size_m: Vec3) -> ThingShape:
    """Hollow and top of an object of a class; they scale with its size."""
    if cls.hollow is None and cls.top is None:
        return _PLAIN
    kx, ky, kz = (own / usual for own, usual in zip(size_m, cls.size_m, strict=True))
    hollow, top = None, None
    if cls.hollow is not None:
        (x, y), (sx, sy, sz) = cls.hollow.center_m, cls.hollow.size_m
        middle = cls.hollow.bottom_m + sz / 2
        hollow = Interior(
            name=HOLLOW_PART, center=(x * kx, y * ky, middle * kz), size=(sx * kx, sy * ky, sz * kz)
        )
    if cls.top is not None:
        (x, y), (sx, sy) = cls.top.center_m, cls.top.size_m
        center = (x * kx, y * ky, cls.top.height_m * kz)
        top = Surface(name=TOP_PART, center=center, size=(sx * kx, sy * ky))
    return ThingShape(hollow, top)


def part_of(cls: ObjectClass, relation: Relation) -> str | None:
    """The part of an object that others are on or in, by its class; None if it has none."""
    if relation is Relation.WITHIN:
        return None if cls.hollow is None else HOLLOW_PART
    return None if cls.top is None else TOP_PART


def base_placement(things: Sequence[ObjectPlacement], thing: ObjectPlacement) -> ObjectPlacement:
    """The lowest of the things that a thing is on or in; itself if it is on or in none."""
    for _ in things:
        holder = next((other for other in things if other.name == thing.parent), None)
        if holder is None:
            break
        thing = holder
    return thing


@lru_cache(maxsize=4096)
def part_by_word(word: str, relation: Relation) -> str | None:
    """The same by the shipped catalogue, for the class that a word names."""
    catalogue = default_catalogue()
    name = catalogue.object_name(word)
    return None if name is None else part_of(catalogue.objects[name], relation)


def holds_things(word: str) -> bool:
    """Whether things can be put into or onto objects of a class, by the shipped catalogue."""
    return any(part_by_word(word, relation) for relation in (Relation.ON, Relation.WITHIN))


def containment_cycle(things: Sequence[ObjectPlacement]) -> tuple[str, str] | None:
    """The name of a thing that is on or in itself, and the relation; None if there is none."""
    parents = {thing.name: thing.parent for thing in things}
    for name in parents:
        way = [name]
        while (holder := parents.get(way[-1])) is not None and holder in parents:
            way.append(holder)
            if holder == name:
                return name, f"a cycle of containment: {' in or on '.join(way)}"
            if len(way) > len(parents):
                break
    return None


@lru_cache(maxsize=4096)
def known_shape(class_name: str, size_m: Vec3) -> ThingShape:
    """The same by the shipped catalogue; empty for unknown classes."""
    cls = default_catalogue().objects.get(class_name)
    return _PLAIN if cls is None or min(size_m) <= 0 else shape_of(cls, size_m)
