"""Furniture and things from classes of the catalogue: their measures and their looks."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from planner.world.catalogue import (
    Catalogue,
    FurnitureClass,
    JointRecipe,
    ObjectClass,
    SurfaceRecipe,
    default_catalogue,
)
from planner.world.geometry import Vec3
from planner.world.house import Furniture, Interior, Joint, Surface
from planner.world.shapes import (
    UNKNOWN_LOOK,
    Color,
    Look,
    Material,
    Part,
    main_color,
    painted,
    scale,
    scale_parts,
)
from planner.world.states import default_states


class Uniform(Protocol):
    """The one method needed of both `random.Random` and `numpy.random.Generator`."""

    def uniform(self, low: float, high: float, /) -> float:
        """A number between `low` and `high`."""


def build_furniture(
    cls: FurnitureClass, name: str, room: str, x_m: float, y_m: float, yaw_rad: float, size_m: Vec3
) -> Furniture:
    """One piece of furniture of a class, closed and in its default states.

    Args:
        cls: the class whose recipe is scaled.
        name: the entity's name, as in `table_3`.
        room: the name of its room.
        x_m: middle of its footprint in the map.
        y_m: middle of its footprint in the map.
        yaw_rad: direction of its front (+x) in the map.
        size_m: depth, width and height; may be outside the class's limits.

    Returns:
        The furniture with parts, surfaces, interiors and joints in metres.
    """
    return Furniture(
        name=name,
        class_name=cls.name,
        room=room,
        x_m=x_m,
        y_m=y_m,
        yaw_rad=yaw_rad,
        size_m=size_m,
        affordances=cls.affordances,
        faucet=None if cls.faucet is None else scale(cls.faucet, size_m),
        states=default_states().initial(cls.affordances),
        parts=scale_parts(cls.parts, size_m),
        surfaces=tuple(_surface(recipe, size_m) for recipe in cls.surfaces),
        interiors=tuple(
            Interior(
                name=recipe.name,
                center=scale(recipe.center, size_m),
                size=scale(recipe.size, size_m),
                joint=recipe.joint,
                moves=recipe.moves,
            )
            for recipe in cls.interiors
        ),
        joints=tuple(_joint(recipe, size_m) for recipe in cls.joints),
    )


def object_size(cls: ObjectClass, rng: Uniform) -> Vec3:
    """A random size in metres for one object, within its class's spread.

    All three extents have the same factor, so that round things stay round.
    """
    factor = float(rng.uniform(1 - cls.size_spread, 1 + cls.size_spread))
    return scale((factor, factor, factor), cls.size_m)


def _surface(recipe: SurfaceRecipe, size_m: Vec3) -> Surface:
    depth, width = recipe.size
    surface = Surface(
        name=recipe.name,
        center=scale(recipe.center, size_m),
        size=(round(depth * size_m[0], 4), round(width * size_m[1], 4)),
    )
    if recipe.clearance is None:
        return surface
    return surface.model_copy(update={"clearance": round(recipe.clearance * size_m[2], 4)})


def _joint(recipe: JointRecipe, size_m: Vec3) -> Joint:
    # A drawer runs along x, so its travel scales with the depth; a hinge's angle does not.
    travel = recipe.travel * size_m[0] if recipe.kind == "slide" else recipe.travel
    return Joint(
        name=recipe.name,
        kind=recipe.kind,
        axis=recipe.axis,
        origin=scale(recipe.origin, size_m),
        travel=round(travel, 4),
        handle=scale(recipe.handle, size_m),
    )


# The looks of furniture and things: what a house says of each, else what its class has.


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
