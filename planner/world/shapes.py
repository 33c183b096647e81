"""Solid primitives that furniture, objects and bodies are drawn and collided with."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from planner.world.files import FileModel
from planner.world.geometry import Vec3

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
    """Cylinders and capsules stand along their `axis`; the others have none."""

    BOX = "box"
    CYLINDER = "cylinder"
    CAPSULE = "capsule"
    SPHERE = "sphere"
    ELLIPSOID = "ellipsoid"


class Axis(StrEnum):
    """A direction of the owner's frame."""

    X = "x"
    Y = "y"
    Z = "z"


class Part(FileModel):
    """One primitive in its owner's frame.

    The owner's frame has its origin at the middle of the footprint, on the
    ground, x forward (a furniture's front), y left, z up. In a class of the
    catalogue `center` and `size` are fractions of the owner's size (x and y
    from -0.5 to 0.5, z from 0 to 1); in a house they are metres.

    `size` is the full extent of the tight box around the primitive. `joint`
    names the joint that the part moves with.
    """

    shape: Shape = Shape.BOX
    center: Fraction3
    size: Size3
    rgb: Rgb
    axis: Axis = Axis.Z
    joint: str | None = None


def scale(point: Fraction3, size_m: Vec3) -> Vec3:
    """Fractions of a size, in metres rounded to a tenth of a millimetre."""
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
    # A size that is stretched in one direction would turn a leg's circle into an oval, which
    # no renderer's cylinder can draw: the narrowest extent wins, so the part stays in its box.
    if part.shape is Shape.SPHERE:
        return (min(size),) * 3
    if part.shape not in (Shape.CYLINDER, Shape.CAPSULE):
        return size
    along = "xyz".index(part.axis)
    across = min(extent for i, extent in enumerate(size) if i != along)
    if part.shape is Shape.CAPSULE:
        across = min(across, size[along])
    x, y, z = (size[i] if i == along else across for i in range(3))
    return (x, y, z)
