"""What things look like: words for colours and materials, and the colours that are drawn."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

from planner.world.record import record
from planner.world.shapes import Part, Rgb


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
    (15, Color.RED),
    (40, Color.ORANGE),
    (68, Color.YELLOW),
    (170, Color.GREEN),
    (260, Color.BLUE),
    (290, Color.PURPLE),
    (345, Color.PINK),
    (360, Color.RED),
)
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
