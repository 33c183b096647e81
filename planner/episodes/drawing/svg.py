"""A picture as SVG. Texts are escaped; there are no scripts, links or outside files."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from planner.episodes.drawing.shapes import PAPER, Box, Oval, Path, Picture, Shape, Text

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
