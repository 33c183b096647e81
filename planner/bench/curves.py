"""Plots a memory's scores over a tour."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from planner.bench.line_colours import line_colours
from planner.bench.memory_bench import HouseScore, Point

_SIZE, _MARGIN_PX = (900, 320), 46
_INK, _PAPER, _GRID = (30, 30, 30), (255, 255, 255), (222, 222, 222)
_CHARTS = ("precision", "recall", "hallucinations")


def draw_curves(scores: Sequence[HouseScore]) -> Image.Image:
    """One chart each for precision, recall and hallucinations, a line for each tour of a house.

    Each updater has a colour of its own.
    """
    width, height = _SIZE
    sheet = Image.new("RGB", (width, height * len(_CHARTS)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(13)
    updaters = list(dict.fromkeys(score.updater for score in scores))
    colours = dict(zip(updaters, line_colours(len(updaters)), strict=True))
    last_s = max((p.stamp_s for s in scores for p in s.curve), default=1.0) or 1.0
    for number, measure in enumerate(_CHARTS):
        top = number * height
        max_value = _maximum(scores, measure)
        _frame(draw, font, top, measure, max_value, last_s)
        for score in scores:
            colour = colours[score.updater]
            line = [_place(p, measure, top, max_value, last_s) for p in score.curve]
            known = [point for point in line if point is not None]
            if len(known) > 1:
                draw.line(known, fill=colour, width=2)
        for index, updater in enumerate(updaters):
            place = (width - 180, top + 8 + 16 * index)
            draw.text(place, updater, fill=colours[updater], font=font)
    return sheet


def _maximum(scores: Sequence[HouseScore], measure: str) -> float:
    if measure != "hallucinations":
        return 1.0
    return float(max((p.hallucinations for s in scores for p in s.curve), default=1) or 1)


def _place(
    point: Point, measure: str, top: int, max_value: float, last_s: float
) -> tuple[float, float] | None:
    value: float | None = getattr(point, measure)
    if value is None:
        return None
    width, height = _SIZE
    x = _MARGIN_PX + point.stamp_s / last_s * (width - 2 * _MARGIN_PX)
    y = top + height - _MARGIN_PX - value / max_value * (height - 2 * _MARGIN_PX)
    return x, y


def _frame(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    top: int,
    measure: str,
    max_value: float,
    last_s: float,
) -> None:
    width, height = _SIZE
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + height - _MARGIN_PX - share * (height - 2 * _MARGIN_PX)
        draw.line([(_MARGIN_PX, y), (width - _MARGIN_PX, y)], fill=_GRID)
        draw.text((6, y - 8), f"{share * max_value:g}"[:5], fill=_INK, font=font)
    draw.text((_MARGIN_PX, top + 8), measure, fill=_INK, font=font)
    draw.text((width - 2 * _MARGIN_PX, top + height - 30), f"{last_s:.0f} s", fill=_INK, font=font)
