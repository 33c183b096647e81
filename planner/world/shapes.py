"""Solid shapes of furniture, objects and bodies, and their colours and materials."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Field

from planner.world.files import FileModel
from planner.world.geometry import Pose, Vec3, record

Fraction3 = tuple[float, float, float]
# A tenth of a millimetre: to this sizes are rounded, and nothing thinner can be simulated.
MIN_EXTENT_M = 1e-4
_Extent = Annotated[float, Field(ge=MIN_EXTENT_M)]
Size3 = tuple[_Extent, _Extent, _Extent]
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
                "size": _rounded(part, _extents(part.size, size_m)),
            }
        )
        for part in parts
    )


def _extents(size: Vec3, size_m: Vec3) -> Vec3:
    """A part's extents in metres; none is rounded to nothing."""
    x, y, z = (max(extent, MIN_EXTENT_M) for extent in scale(size, size_m))
    return (x, y, z)


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


# What things look like: words for colours and materials, and the colours that are drawn.


class Color(StrEnum):
    """Colours, in American spelling."""

    BLACK = "black"
    BLUE = "blue"
    BROWN = "brown"
    GOLD = "gold"
    GRAY = "gray"
    GREEN = "green"
    ORANGE = "orange"
    PINK = "pink"
    PURPLE = "purple"
    RED = "red"
    SILVER = "silver"
    WHITE = "white"
    YELLOW = "yellow"


class Material(StrEnum):
    """What things are made of."""

    CERAMIC = "ceramic"
    FABRIC = "fabric"
    GLASS = "glass"
    LEATHER = "leather"
    METAL = "metal"
    PAPER = "paper"
    PLASTIC = "plastic"
    STONE = "stone"
    WICKER = "wicker"
    WOOD = "wood"


@record
class Look:
    """The look of a thing; None where it is unknown or of several kinds."""

    color: Color | None = None
    material: Material | None = None


UNKNOWN_LOOK = Look()

AS_SEEN: Mapping[Color, Color] = {Color.GOLD: Color.YELLOW, Color.SILVER: Color.GRAY}
"""How colours that shine look to a camera."""

# How a thing of a colour is drawn.
_PAINT: Mapping[Color, Rgb] = {
    Color.BLACK: (0.12, 0.12, 0.13),
    Color.BLUE: (0.18, 0.38, 0.75),
    Color.BROWN: (0.48, 0.31, 0.18),
    Color.GOLD: (0.83, 0.69, 0.22),
    Color.GRAY: (0.55, 0.56, 0.58),
    Color.GREEN: (0.24, 0.58, 0.30),
    Color.ORANGE: (0.93, 0.52, 0.13),
    Color.PINK: (0.93, 0.60, 0.72),
    Color.PURPLE: (0.50, 0.29, 0.66),
    Color.RED: (0.79, 0.17, 0.15),
    Color.SILVER: (0.76, 0.78, 0.80),
    Color.WHITE: (0.95, 0.95, 0.93),
    Color.YELLOW: (0.95, 0.80, 0.18),
}
# Upper ends of hues in degrees; the reds go on from the last one.
_HUES = (
    (15, Color.RED), (40, Color.ORANGE), (68, Color.YELLOW), (170, Color.GREEN),
    (260, Color.BLUE), (290, Color.PURPLE), (345, Color.PINK), (360, Color.RED),
)  # fmt: skip
_WORDS = {"color": Color, "material": Material}


@lru_cache(maxsize=4096)
def color_of(rgb: Rgb) -> Color:
    """The word that people use for a colour; never gold or silver, which only shine."""
    hue, saturation, value = colorsys.rgb_to_hsv(*rgb)
    if value < 0.2:
        return Color.BLACK
    if saturation < 0.16 or saturation * value < 0.11:
        return Color.WHITE if value >= 0.88 else Color.GRAY if value >= 0.25 else Color.BLACK
    word = next(word for end, word in _HUES if hue * 360 <= end)
    match word:
        case Color.RED if value > 0.75 and saturation < 0.45:
            return Color.PINK
        case Color.RED if value < 0.5 and saturation < 0.6:
            return Color.BROWN
        case Color.PINK if value < 0.6:
            return Color.PURPLE
        case Color.ORANGE | Color.YELLOW if saturation < 0.35 and value >= 0.85:
            return Color.WHITE
        case Color.ORANGE if value < 0.8 or saturation < 0.6:
            return Color.BROWN
        case Color.YELLOW if value < 0.8 or saturation < 0.5:
            return Color.BROWN
        case _:
            return word


def paint(color: Color) -> Rgb:
    """How a colour is painted."""
    return _PAINT[color]


def main_color(parts: Iterable[Part]) -> Color:
    """The word for the colour of most of a thing's surface; `parts` in metres or of one cube."""
    areas: dict[Color, float] = {}
    for part in parts:
        word = color_of(part.rgb)
        areas[word] = areas.get(word, 0.0) + _area(part)
    return max(areas, key=areas.__getitem__)


def painted(parts: Sequence[Part], color: Color | None) -> tuple[Part, ...]:
    """The parts of a thing in another colour: all that have its main one. None: as they are.

    Those that are darker than the largest one, such as the opening of a cup, stay so.
    """
    if color is None or (main := main_color(parts)) is color:
        return tuple(parts)
    meant = [part for part in parts if color_of(part.rgb) is main]
    brightness = max(max(meant, key=_area).rgb) or 1.0
    return tuple(
        part.model_copy(update={"rgb": _shaded(_PAINT[color], max(part.rgb) / brightness)})
        if color_of(part.rgb) is main
        else part
        for part in parts
    )


def _area(part: Part) -> float:
    x, y, z = part.size
    return x * y + y * z + z * x


def _shaded(rgb: Rgb, share: float) -> Rgb:
    red, green, blue = (round(level * min(share, 1.0), 4) for level in rgb)
    return (red, green, blue)


def look_states(look: Look) -> dict[str, bool]:
    """A look as states of messages, as a state with several values is: `color_red`."""
    words = {"color": look.color, "material": look.material}
    return {f"{field}_{word}": True for field, word in words.items() if word is not None}


def take_look(states: Mapping[str, bool]) -> tuple[dict[str, bool], Look]:
    """The states of a message without a look's, and the look."""
    rest: dict[str, bool] = {}
    found: dict[str, str] = {}
    for state, value in states.items():
        field, _, word = state.partition("_")
        if value and field in _WORDS and word in set(_WORDS[field]):
            found[field] = word
        else:
            rest[state] = value
    if not found:
        return rest, UNKNOWN_LOOK
    color, material = found.get("color"), found.get("material")
    return rest, Look(Color(color) if color else None, Material(material) if material else None)
