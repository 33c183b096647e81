"""The shapes and parts of a picture, their colours, and the picture as SVG or as pixels."""

from __future__ import annotations

import colorsys
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from PIL import Image, ImageDraw, ImageFont

from planner.evaluation.task import Proposition

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


# Parts of a picture, placed beside and below each other without overlapping.

Anchor = tuple[str, ...]
"""What an arrow begins or ends at: a kind and names."""


@dataclass(frozen=True, slots=True)
class Part:
    """Shapes in a rectangle, whose top left corner is (0, 0); anchors are points in it."""

    width: float
    height: float
    shapes: tuple[Shape, ...] = ()
    anchors: Mapping[Anchor, Point] = field(default_factory=dict)

    def at(self, dx: float, dy: float) -> Part:
        """The same part elsewhere; its size includes the shift."""
        anchors = {key: (x + dx, y + dy) for key, (x, y) in self.anchors.items()}
        return Part(self.width + dx, self.height + dy, tuple(moved(self.shapes, dx, dy)), anchors)


def over(parts: Iterable[Part]) -> Part:
    """Parts in the same rectangle, later ones on top."""
    parts = list(parts)
    anchors = {key: point for part in parts for key, point in part.anchors.items()}
    return Part(
        max((part.width for part in parts), default=0.0),
        max((part.height for part in parts), default=0.0),
        tuple(shape for part in parts for shape in part.shapes),
        anchors,
    )


def beside(parts: Sequence[Part], gap: float, *, bottoms: bool = False) -> Part:
    """Parts from left to right, with their tops, or their bottoms, at one height."""
    height = max((part.height for part in parts), default=0.0)
    placed, x = [], 0.0
    for part in parts:
        placed.append(part.at(x, height - part.height if bottoms else 0.0))
        x += part.width + gap
    return over(placed)


def below(parts: Sequence[Part], gap: float, *, centred: bool = False) -> Part:
    """Parts from top to bottom; empty ones take no room."""
    parts = [part for part in parts if part.height > 0]
    width = max((part.width for part in parts), default=0.0)
    placed, y = [], 0.0
    for part in parts:
        placed.append(part.at((width - part.width) / 2 if centred else 0.0, y))
        y += part.height + gap
    return over(placed)


def rows(parts: Sequence[Part], max_width: float, gap: float) -> list[list[Part]]:
    """Parts in rows of a maximum width, in their order; a wider part has a row of its own."""
    found: list[list[Part]] = []
    x = 0.0
    for part in parts:
        if not found or x + gap + part.width > max_width:
            found.append([part])
            x = part.width
        else:
            found[-1].append(part)
            x += gap + part.width
    return found


# The colour of each proposition, and of the entities that occur in it.

# Dark enough for lines and words on white.
_PALETTE: Sequence[Colour] = (
    *("#1f6fb4", "#d1530f", "#1d8a4e", "#9b3fa8", "#c2233d"),
    *("#0d8a93", "#8a6a00", "#5b4bd6", "#b0447f", "#4f6272"),
)


# Hues of further ones: steps of the golden ratio never come back to one that was there.
_STEP, _SATURATION, _VALUE = 0.618034, 0.85, 0.62


def proposition_colour(index: int) -> Colour:
    """The colour of a proposition; no two are alike."""
    if index < len(_PALETTE):
        return _PALETTE[index]
    red, green, blue = colorsys.hsv_to_rgb(index * _STEP % 1, _SATURATION, _VALUE)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def entity_colours(propositions: Sequence[Proposition]) -> Mapping[str, Colour]:
    """For each entity the colour of the first proposition it occurs in."""
    found: dict[str, Colour] = {}
    for i, item in enumerate(propositions):
        for name in (name for names in item.lists for name in names):
            found.setdefault(name, proposition_colour(i))
    return found


# A picture as SVG. Texts are escaped; there are no scripts, links or outside files.

_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_DASHES = "6 5"
# XML 1.0 has no way to write these; bidirectional overrides could disguise a text.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OVERRIDES = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def svg_text(picture: Picture) -> str:
    """The picture as the text of an SVG file."""
    width, height = _number(picture.width), _number(picture.height)
    size = f'width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}"'
    lines = [
        f'{head} font-family="{_FONT}">',
        f"<title>{_escaped(picture.title)}</title>",
        f'<rect {size} fill="{PAPER}"/>',
        *(_element(shape) for shape in picture.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            place = {"x": shape.x, "y": shape.y, "width": shape.width, "height": shape.height}
            numbers = _attributes(place | ({"rx": shape.radius} if shape.radius else {}))
            dashes = f' stroke-dasharray="{_DASHES}"' if shape.dashed else ""
            paint = _paint(shape.fill, shape.stroke, shape.stroke_width)
            return f"<rect{numbers}{paint}{dashes}/>"
        case Path():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            dashes = f' stroke-dasharray="{_DASHES}"' if shape.dashed else ""
            paint = _paint(shape.fill, shape.stroke, shape.width)
            return f'<polyline points="{points}"{paint} stroke-linejoin="round"{dashes}/>'
        case Oval():
            place = {"cx": shape.x, "cy": shape.y, "rx": shape.radius_x, "ry": shape.radius_y}
            paint = _paint(shape.fill, shape.stroke, shape.stroke_width)
            return f"<ellipse{_attributes(place)}{paint}/>"
        case Text():
            # Not every viewer knows dominant-baseline, so the baseline is computed.
            place = {"x": shape.x, "y": shape.y + 0.35 * shape.size, "font-size": shape.size}
            anchor = f' text-anchor="{shape.anchor}"' if shape.anchor != "start" else ""
            bold = ' font-weight="bold"' if shape.bold else ""
            halo = f' stroke="{PAPER}" stroke-width="3" paint-order="stroke"' if shape.halo else ""
            return (
                f'<text{_attributes(place)} fill="{shape.colour}"{anchor}{bold}{halo}>'
                f"{_escaped(shape.text)}</text>"
            )


def _attributes(values: dict[str, float]) -> str:
    return "".join(f' {name}="{_number(value)}"' for name, value in values.items())


def _paint(fill: str | None, stroke: str | None, width: float) -> str:
    outline = f' stroke={quoteattr(stroke)} stroke-width="{_number(width)}"' if stroke else ""
    return f" fill={quoteattr(fill or 'none')}{outline}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _escaped(text: str) -> str:
    return escape(_OVERRIDES.sub("\ufffd", _UNPRINTABLE.sub("\ufffd", text)))


# A picture as pixels.

# Drawn larger and scaled down, for antialiasing.
_OVERSAMPLING = 2
_DASH, _GAP = 6.0, 5.0
_HALO_PX = 1.5


def image_of(picture: Picture, scale: float = 1.0) -> Image.Image:
    """The picture as an RGB image.

    Args:
        picture: what to draw.
        scale: pixels of the image per pixel of the picture.
    """
    size = (math.ceil(picture.width * scale), math.ceil(picture.height * scale))
    large = (size[0] * _OVERSAMPLING, size[1] * _OVERSAMPLING)
    image = Image.new("RGB", large, PAPER)
    draw = ImageDraw.Draw(image)
    for shape in picture.shapes:
        _draw(draw, shape, scale * _OVERSAMPLING)
    return image.resize(size, Image.Resampling.BOX)


def _draw(draw: ImageDraw.ImageDraw, shape: Shape, k: float) -> None:
    match shape:
        case Box():
            _box(draw, shape, k)
        case Path():
            points = [(x * k, y * k) for x, y in shape.points]
            if shape.fill is not None:
                draw.polygon(points, fill=shape.fill)
            if shape.stroke is not None:
                _line(draw, points, shape.stroke, shape.width * k, k if shape.dashed else None)
        case Oval():
            x, y, rx, ry = shape.x * k, shape.y * k, shape.radius_x * k, shape.radius_y * k
            width = round(shape.stroke_width * k) if shape.stroke else 0
            draw.ellipse(
                (x - rx, y - ry, x + rx, y + ry), fill=shape.fill, outline=shape.stroke, width=width
            )
        case Text():
            _text(draw, shape, k)


def _box(draw: ImageDraw.ImageDraw, shape: Box, k: float) -> None:
    x0, y0 = shape.x * k, shape.y * k
    x1, y1 = x0 + shape.width * k, y0 + shape.height * k
    solid = shape.stroke if not shape.dashed else None
    width = round(shape.stroke_width * k) if solid else 0
    if shape.fill is not None or solid is not None:
        draw.rounded_rectangle(
            (x0, y0, x1, y1), shape.radius * k, fill=shape.fill, outline=solid, width=width
        )
    if shape.dashed and shape.stroke is not None:
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]
        _line(draw, corners, shape.stroke, shape.stroke_width * k, k)


def _text(draw: ImageDraw.ImageDraw, shape: Text, k: float) -> None:
    # Pillow's font has one weight, which a thin outline of the same colour makes bold.
    stroke, fill = (0.0, None)
    if shape.bold:
        stroke, fill = (0.03 * shape.size * k, shape.colour)
    at, face = (shape.x * k, shape.y * k), font(shape.size * k)
    anchor = "mm" if shape.anchor == "middle" else "lm"
    if shape.halo:
        width = stroke + _HALO_PX * k
        draw.text(at, shape.text, PAPER, face, anchor, stroke_width=width, stroke_fill=PAPER)
    draw.text(at, shape.text, shape.colour, face, anchor, stroke_width=stroke, stroke_fill=fill)


def _line(
    draw: ImageDraw.ImageDraw, points: Sequence[Point], colour: str, width: float, k: float | None
) -> None:
    """Connected lines, dashed if `k`, the scale of dashes, is given."""
    runs = [list(points)] if k is None else _dashes(points, k)
    for run in runs:
        draw.line(run, fill=colour, width=max(1, round(width)), joint="curve")


def _dashes(points: Sequence[Point], k: float) -> Iterator[list[Point]]:
    left, drawn, run = _DASH * k, True, [points[0]]
    for one, other in pairwise(points):
        length, done = math.dist(one, other), 0.0
        while length - done > left:
            done += left
            t = done / length
            turn = (one[0] + t * (other[0] - one[0]), one[1] + t * (other[1] - one[1]))
            if drawn:
                yield [*run, turn]
            run, drawn = [turn], not drawn
            left = (_DASH if drawn else _GAP) * k
        left -= length - done
        run.append(other)
    if drawn and len(run) > 1:
        yield run
