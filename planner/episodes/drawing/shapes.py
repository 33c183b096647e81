"""The shapes that a picture consists of; lengths in pixels, x to the right, y down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from PIL import ImageFont

Point = tuple[float, float]
Colour = str
"""As `#rrggbb`."""
INK, SOFT, LINE, PAPER = "#1c2330", "#5d6778", "#c9d0da", "#ffffff"

# Viewers may use a slightly wider font than the one that is measured with.
_WIDER = 1.06
_LINE_HEIGHT = 1.25


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with rounded corners; `dashed` is its outline."""

    x: float
    y: float
    width: float
    height: float
    fill: Colour | None = None
    stroke: Colour | None = None
    stroke_width: float = 1.0
    radius: float = 0.0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Connected straight lines, filled if `fill` is given."""

    points: tuple[Point, ...]
    stroke: Colour | None = None
    width: float = 1.0
    dashed: bool = False
    fill: Colour | None = None


@dataclass(frozen=True, slots=True)
class Oval:
    """An ellipse around a centre."""

    x: float
    y: float
    radius_x: float
    radius_y: float
    fill: Colour | None = None
    stroke: Colour | None = None
    stroke_width: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """One line; `y` is its vertical middle. `halo` keeps it legible on top of lines."""

    x: float
    y: float
    text: str
    size: float
    colour: Colour = INK
    anchor: Literal["start", "middle"] = "start"
    bold: bool = False
    halo: bool = False


Shape = Box | Path | Oval | Text


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes from back to front on white paper."""

    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def moved(shapes: Iterable[Shape], dx: float, dy: float) -> list[Shape]:
    """The shapes at another place."""
    return [
        replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))
        if isinstance(shape, Path)
        else replace(shape, x=shape.x + dx, y=shape.y + dy)
        for shape in shapes
    ]


@lru_cache(maxsize=64)
def font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font, so that pictures look the same on every machine."""
    return ImageFont.load_default(size)


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a line, rounded up for fonts that are slightly wider."""
    width = font(size).getlength(text) * _WIDER
    return width * 1.05 if bold else width


def line_height(size: float) -> float:
    """The distance of two lines of a text."""
    return size * _LINE_HEIGHT


def wrapped(text: str, size: float, width: float, *, bold: bool = False) -> list[str]:
    """The lines of a text of a maximum width; longer words are cut."""
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, size, bold=bold) <= width:
            lines[-1] = joined
            continue
        lines += _cut(word, size, width, bold=bold)
    return lines or [""]


def _cut(word: str, size: float, width: float, *, bold: bool) -> list[str]:
    """A word in pieces that fit: at the underscore nearest to its middle, else where it must be."""

    def fits(length: int) -> bool:
        return text_width(word[:length], size, bold=bold) <= width

    if fits(len(word)) or len(word) < 2:
        return [word]
    underscores = [k + 1 for k, c in enumerate(word[:-1]) if c == "_" and fits(k + 1)]
    letters = (k for k in range(len(word) - 1, 0, -1) if fits(k))
    at = min(underscores, key=lambda k: abs(2 * k - len(word)), default=0) or next(letters, 1)
    return [word[:at], *_cut(word[at:], size, width, bold=bold)]


def text_bounds(text: Text) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a line."""
    width = text_width(text.text, text.size, bold=text.bold)
    left = text.x - (width / 2 if text.anchor == "middle" else 0.0)
    return left, text.y - text.size / 2, left + width, text.y + text.size / 2


def text_lines(
    lines: Sequence[str],
    x: float,
    y: float,
    size: float,
    colour: Colour = INK,
    *,
    bold: bool = False,
) -> list[Text]:
    """Lines below each other, the first one's top at `y`, from `x` to the right."""
    step = line_height(size)
    return [
        Text(x, y + (k + 0.5) * step, line, size, colour, bold=bold) for k, line in enumerate(lines)
    ]
