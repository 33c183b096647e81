"""Solid shapes of which furniture, objects and bodies consist, for drawing and collision."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from planner.world.files import FileModel
from planner.world.geometry import Pose, Vec3

Fraction3 = tuple[float, float, float]
Size3 = tuple[
    Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]
]
_Level = Annotated[float, Field(ge=0, le=1)]


def _read_hex(value: object) -> object:
    if isinstance(value, str):
        digits = value.removeprefix("#")
        if len(digits) != 6 or any(c not in "0123456789abcdefABCDEF" for c in digits):
            raise ValueError(f"colour {value!r} is not of the form #rrggbb")
        return tuple(round(int(digits[i : i + 2], 16) / 255, 4) for i in (0, 2, 4))
    return value


Rgb = Annotated[tuple[_Level, _Level, _Level], BeforeValidator(_read_hex)]
"""A colour, each channel from 0 to 1; files may write it as "#rrggbb"."""


class Shape(StrEnum):
    """Cylinders and capsules stand along their `axis`; the others have none.

    The open ones are upright: walls and a floor, open at the top.
    """

    BOX = "box"
    CYLINDER = "cylinder"
    CAPSULE = "capsule"
    SPHERE = "sphere"
    ELLIPSOID = "ellipsoid"
    OPEN_BOX = "open_box"
    OPEN_CYLINDER = "open_cylinder"


OPEN_SHAPES = frozenset({Shape.OPEN_BOX, Shape.OPEN_CYLINDER})
# Thickness of walls and floor of open shapes, as a share of the narrower extent across.
_WALL_SHARE = 0.04
# Maximum thickness of a floor as a share of the height.
_FLOOR_SHARE = 0.3
# Number of boxes that form the wall of an open cylinder.
_STAVES = 12
# Corners of a circle drawn from above.
_CIRCLE_STEPS = 24


class Axis(StrEnum):
    """A direction of the owner's frame."""

    X = "x"
    Y = "y"
    Z = "z"


class Part(FileModel):
    """One shape in its owner's frame.

    The owner's frame has its origin at the middle of the footprint, on the ground, x forward (a
    furniture's front), y left, z up. In a class of the catalogue `center` and `size` are fractions
    of the owner's size (x and y from -0.5 to 0.5, z from 0 to 1); in a house they are metres.

    `size` is the full extent of the tight box around the shape. `joint` names the joint that moves
    the part. Open shapes have no `axis`.
    """

    shape: Shape = Shape.BOX
    center: Fraction3
    size: Size3
    rgb: Rgb
    axis: Axis = Axis.Z
    joint: str | None = None


@dataclass(frozen=True, slots=True)
class SolidPart:
    """A part that is not open, rotated by a yaw about its own centre."""

    part: Part
    yaw_rad: float = 0.0


def solids(part: Part) -> Iterator[SolidPart]:
    """The solid parts that make up a part in metres; one that is not open is returned itself."""
    if part.shape not in OPEN_SHAPES:
        yield SolidPart(part)
        return
    (x, y, z), (sx, sy, sz) = part.center, part.size
    wall = _WALL_SHARE * min(sx, sy)
    floor = min(wall, _FLOOR_SHARE * sz)
    middle_z = z + floor / 2

    def _solid(shape: Shape, center: Vec3, size: Vec3, yaw_rad: float = 0.0) -> SolidPart:
        update = {"shape": shape, "center": center, "size": size}
        return SolidPart(part.model_copy(update=update), yaw_rad)

    is_box = part.shape is Shape.OPEN_BOX
    ground = (x, y, z - sz / 2 + floor / 2)
    yield _solid(Shape.BOX if is_box else Shape.CYLINDER, ground, (sx, sy, floor))
    if is_box:
        for side in (-1, 1):
            across = (wall, sy, sz - floor)
            yield _solid(Shape.BOX, (x + side * (sx - wall) / 2, y, middle_z), across)
            along = (sx - 2 * wall, wall, sz - floor)
            yield _solid(Shape.BOX, (x, y + side * (sy - wall) / 2, middle_z), along)
        return
    radius = min(sx, sy) / 2
    stave = (wall, 2 * radius * math.sin(math.pi / _STAVES), sz - floor)
    out = radius * math.cos(math.pi / _STAVES) - wall / 2
    for index in range(_STAVES):
        turn = math.tau * index / _STAVES
        center = (x + out * math.cos(turn), y + out * math.sin(turn), middle_z)
        yield _solid(Shape.BOX, center, stave, turn)


def is_round_from_above(part: Part) -> bool:
    """Whether a part's outline from above is a circle or an ellipse."""
    if part.shape in (Shape.CYLINDER, Shape.CAPSULE):
        return part.axis is Axis.Z
    return part.shape in (Shape.SPHERE, Shape.ELLIPSOID, Shape.OPEN_CYLINDER)


def scale(point: Fraction3, size_m: Vec3) -> Vec3:
    """Converts fractions of a size to metres, rounded to a tenth of a millimetre."""
    x, y, z = (round(f * s, 4) for f, s in zip(point, size_m, strict=True))
    return (x, y, z)


def scale_parts(parts: Sequence[Part], size_m: Vec3) -> tuple[Part, ...]:
    """A recipe's parts in metres for an owner of this size; round parts stay round."""
    return tuple(
        part.model_copy(
            update={
                "center": scale(part.center, size_m),
                "size": _rounded(part, scale(part.size, size_m)),
            }
        )
        for part in parts
    )


def _rounded(part: Part, size: Vec3) -> Vec3:
    # Scaling by different factors would turn a leg's circle into an ellipse, which no renderer's
    # cylinder can be: the smallest extent is used, so that the part stays in its box.
    if part.shape is Shape.SPHERE:
        return (min(size),) * 3
    if part.shape not in (Shape.CYLINDER, Shape.CAPSULE, Shape.OPEN_CYLINDER):
        return size
    along = "xyz".index(part.axis)
    across = min(extent for i, extent in enumerate(size) if i != along)
    if part.shape is Shape.CAPSULE:
        across = min(across, size[along])
    x, y, z = (size[i] if i == along else across for i in range(3))
    return (x, y, z)


def outline_from_above(part: Part, pose: Pose) -> list[tuple[float, float]]:
    """The outline of a part from above, in the map; `pose` is the furniture's."""
    hx, hy = part.size[0] / 2, part.size[1] / 2
    if is_round_from_above(part):
        turns = (math.tau * i / _CIRCLE_STEPS for i in range(_CIRCLE_STEPS))
        local = [(hx * math.cos(t), hy * math.sin(t)) for t in turns]
    else:
        local = [(-hx, -hy), (hx, -hy), (hx, hy), (-hx, hy)]
    x, y, _ = part.center
    return [pose.apply((x + dx, y + dy, 0.0))[:2] for dx, dy in local]
