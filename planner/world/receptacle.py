"""What can be put where: into, onto and beside what, and where it comes to lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.geometry import Box, Vec3, record
from planner.world.house import Furniture, Interior, ObjectPlacement, Surface
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


def usual_part(word: str) -> Relation | None:
    """How things are put to objects of a class: in their hollow, else on top; None = in no way."""
    ways = (Relation.WITHIN, Relation.ON)
    return next((way for way in ways if part_by_word(word, way) is not None), None)


def holds_things(word: str) -> bool:
    """Whether things can be put into or onto objects of a class, by the shipped catalogue."""
    return usual_part(word) is not None


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


# Which parts of furniture can hold a thing next to other furniture (PARTNR-D8).
#
# Two boxes are next to each other if they overlap in height and their footprints are close, so that
# what stands on a worktop can be next to the sink beside it, but not next to a lower dishwasher.


def parts_beside(
    piece: Furniture, relation: Relation, reference: Furniture, within_m: float
) -> frozenset[str]:
    """The surfaces (on) or hollows (within) from which a thing can be next to a reference.

    Args:
        piece: the furniture that holds the thing.
        relation: on or within.
        reference: other furniture, or the same.
        within_m: maximum horizontal gap between the thing and the reference.
    """
    box = reference.box
    return frozenset(
        name
        for name, center, size in _parts(piece, relation)
        if box.minimum_m[2] <= center[2] <= box.maximum_m[2]
        and _in_map(piece, center, size).horizontal_gap_m(box) <= within_m
    )


def _parts(piece: Furniture, relation: Relation) -> list[tuple[str, Vec3, tuple[float, float]]]:
    """Name, middle of the bottom, and extent of each surface or hollow, in the piece's frame."""
    if relation is Relation.ON:
        return [(s.name, s.center, s.size) for s in piece.surfaces]
    found = []
    for hollow in piece.interiors:
        (x, y, z), (depth, width, height) = hollow.center, hollow.size
        found.append((hollow.name, (x, y, z - height / 2), (depth, width)))
    return found


def _in_map(piece: Furniture, center: Vec3, size: tuple[float, float]) -> Box:
    """The flat box around a part; axis-aligned, in the map."""
    x, y, z = center
    c, s = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    middle = (piece.x_m + x * c - y * s, piece.y_m + x * s + y * c, z)
    return Box.around(middle, (*size, 0.0), piece.yaw_rad)


# Where things come to lie that are put down in the graph world.
#
# The graph world puts them by this, and who compares plans before they are carried out measures by
# it.

# Offsets of a low-discrepancy sequence: it fills a rectangle evenly with any number of things.
_SPREAD = (0.7548776662, 0.5698402910)
# The share of a surface on which middles come to lie.
_SHARE = 0.8


def spread(number: int) -> tuple[float, float]:
    """The offsets from a middle, -0.5 to 0.5, of what is put down as the `number`th, from 1."""
    u, v = ((number * share) % 1.0 - 0.5 for share in _SPREAD)
    return u, v


def spot_at_piece(number: int, piece: Furniture, relation: Relation, size_m: Vec3) -> Vec3:
    """The position in `map` of the `number`th thing that is put down, on or in furniture.

    On a surface the thing does not stick out beyond the edge, if it fits.
    """
    if relation is Relation.ON and piece.surfaces:
        top = piece.surfaces[0]
        x, y, z = _moved(top.center, number, *top.size, _SHARE)
        x, y = off_the_edge((x, y, z), top, sides_along(piece, size_m))
        return piece.pose.apply((x, y, z))
    if relation is Relation.WITHIN and piece.interiors:
        hollow = piece.interiors[0]
        (x, y, z), (along, across, high) = hollow.center, hollow.size
        middle = (x, y, z - high / 2)
    else:
        along, across, height = piece.size_m
        middle = (0.0, 0.0, height)
    return piece.pose.apply(_moved(middle, number, along, across, _SHARE))


def sides_along(piece: Furniture, size_m: Vec3) -> tuple[float, float]:
    """The sides of a thing's box along those of furniture: things have no yaw."""
    along, across, _ = size_m
    c, s = abs(math.cos(piece.yaw_rad)), abs(math.sin(piece.yaw_rad))
    return along * c + across * s, along * s + across * c


def off_the_edge(
    point: Vec3, surface: Surface, sides_m: tuple[float, float]
) -> tuple[float, float]:
    """The point moved inwards, so that a thing is on the surface with all of its underside."""
    x, y = (
        middle + max(-room, min(room, at - middle))
        for at, middle, room in zip(
            point,
            surface.center,
            (max(0.0, (size - side) / 2) for size, side in zip(surface.size, sides_m, strict=True)),
            strict=False,
        )
    )
    return x, y


def spot_at_thing(
    number: int, class_name: str, size_m: Vec3, relation: Relation, *, of_graph: bool
) -> Vec3:
    """The position of the `number`th thing that is put down, from the underside of its holder.

    Args:
        number: from 1.
        class_name: the holder's.
        size_m: the holder's.
        relation: on or within.
        of_graph: whether the house is a graph, whose classes are its own.
    """
    shape = ThingShape() if of_graph else known_shape(class_name, size_m)
    if shape.hollow is not None and (relation is Relation.WITHIN or shape.top is None):
        (x, y, z), (along, across, high) = shape.hollow.center, shape.hollow.size
        return _moved((x, y, z - high / 2), number, along, across, _SHARE)
    if shape.top is not None:
        return _moved(shape.top.center, number, *shape.top.size, _SHARE)
    depth, width, height = size_m
    up_m = height if relation is Relation.ON else height / 4
    return _moved((0.0, 0.0, up_m), number, depth, width, 1.0)


def _moved(middle: Vec3, number: int, along: float, across: float, share: float) -> Vec3:
    (x, y, z), (u, v) = middle, spread(number)
    return (x + share * u * along, y + share * v * across, z)
