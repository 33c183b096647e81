"""The looks of furniture and things: what a house says of each, else what its class has."""

from __future__ import annotations

from functools import lru_cache

from planner.world.catalogue import Catalogue, ObjectClass, default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.look import UNKNOWN_LOOK, Color, Look, Material, main_color, painted
from planner.world.shapes import Part, scale_parts


def look_of_piece(piece: Furniture) -> Look:
    """The look of a piece of furniture as it is drawn."""
    cls = default_catalogue().furniture.get(piece.class_name)
    return Look(piece.drawn_color, piece.material or (cls.material if cls is not None else None))


def look_of_thing(
    class_name: str,
    catalogue: Catalogue,
    color: Color | None = None,
    material: Material | None = None,
) -> Look:
    """The look of a thing of a class, of which a house says `color` and `material`, or None."""
    cls = catalogue.objects.get(class_name)
    if cls is None:
        return Look(color, material) if color or material else UNKNOWN_LOOK
    return Look(color or class_color(cls), material or cls.material)


def thing_parts(cls: ObjectClass, size_m: Vec3, color: Color | None) -> tuple[Part, ...]:
    """The parts of a thing in metres, in the colour that a house says; None: its class's."""
    parts = scale_parts(cls.parts, size_m)
    return parts if color is None or color is class_color(cls) else painted(parts, color)


def class_color(cls: ObjectClass) -> Color:
    """The word for the colour of a class: its own, else that of most of its surface."""
    return cls.color or _drawn_color(cls.parts, cls.size_m)


@lru_cache(maxsize=1024)
def _drawn_color(parts: tuple[Part, ...], size_m: Vec3) -> Color:
    return main_color(scale_parts(parts, size_m))
