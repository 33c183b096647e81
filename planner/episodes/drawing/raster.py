"""A picture as pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from PIL import Image, ImageDraw

from planner.episodes.drawing.shapes import (
    PAPER,
    Box,
    Oval,
    Path,
    Picture,
    Point,
    Shape,
    Text,
    font,
)

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
