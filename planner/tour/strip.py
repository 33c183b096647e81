"""The picture of a tour: its path on a floor plan above the camera pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from planner.houses.drawing import draw_floor_plan
from planner.houses.marks import Marks
from planner.world.house import House
from planner.world.observation import RgbImage

_INK = (30, 30, 30)
_PAPER = (255, 255, 255)
_THUMB_PX = 240
_GAP_PX = 12
_CAPTION_PX = 26
_COLUMNS = 5
_SCALE_PX_PER_M = 80.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A picture of the hand camera and its caption."""

    caption: str
    rgb: RgbImage
    x_m: float
    y_m: float


def draw_strip(
    house: House, path_m: Sequence[tuple[float, float]], moments: Sequence[Moment]
) -> Image.Image:
    """The floor plan with the path and numbered moments, their pictures in rows below."""
    plan = _plan(house, path_m, moments)
    columns = min(_COLUMNS, max(1, len(moments)))
    rows = -(-len(moments) // columns)
    width = max(plan.width, columns * (_THUMB_PX + _GAP_PX) + _GAP_PX)
    height = plan.height + rows * (_THUMB_PX + _CAPTION_PX + _GAP_PX) + _GAP_PX
    sheet = Image.new("RGB", (width, height), _PAPER)
    sheet.paste(plan, ((width - plan.width) // 2, 0))
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(16)
    for index, moment in enumerate(moments):
        x = _GAP_PX + index % columns * (_THUMB_PX + _GAP_PX)
        y = plan.height + index // columns * (_THUMB_PX + _CAPTION_PX + _GAP_PX)
        picture = Image.fromarray(moment.rgb).resize((_THUMB_PX, _THUMB_PX))
        sheet.paste(picture, (x, y))
        draw.text((x, y + _THUMB_PX + 3), f"{index + 1}. {moment.caption}", _INK, font)
    return sheet


def _plan(
    house: House, path_m: Sequence[tuple[float, float]], moments: Sequence[Moment]
) -> Image.Image:
    pins = tuple((moment.x_m, moment.y_m) for moment in moments)
    marks = Marks((tuple(path_m),), pins_m=pins)
    return draw_floor_plan(house, pixels_per_m=_SCALE_PX_PER_M, marks=marks)
