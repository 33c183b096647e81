"""Where things come to lie that are put down in the graph world.

The graph world puts them by this, and who compares plans before they are carried out measures by
it.
"""

from __future__ import annotations

import math

from planner.world.geometry import Vec3
from planner.world.house import Furniture, Surface
from planner.world.receptacle import ThingShape, known_shape
from planner.world.vocabulary import Relation

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
