"""The picture of a run: paths and moved objects on the floor plan, the key moments below."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from planner.houses.drawing import draw_floor_plan
from planner.houses.explored import draw_explored
from planner.houses.map_frame import MapFrame
from planner.world.errors import PlannerError
from planner.world.floor_map import FloorMap
from planner.world.house import House
from planner.world.observation import RgbImage

AGENT_RGB = (
    (30, 90, 200),
    (200, 80, 20),
    (30, 140, 60),
    (130, 40, 150),
    (0, 130, 140),
    (90, 90, 0),
)
_MOVE_RGB = (190, 20, 60)
_INK = (30, 30, 30)
_PAPER = (255, 255, 255)
_THUMB_PX = 236
_GAP_PX = 12
_CAPTION_PX = 56
_SCALE_PX_PER_M = 80.0

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Moment:
    """A camera's picture with a caption of one or two lines."""

    caption: str
    rgb: RgbImage


@dataclass(frozen=True, slots=True)
class Move:
    """An object that was carried from one place to another, map frame."""

    name: str
    start_m: Point
    end_m: Point


def save(picture: Image.Image, path: Path) -> None:
    """Write a picture atomically; creates its folder.

    Raises:
        PlannerError: if the folder or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise PlannerError(f"{path}: cannot be written: {error}") from None


def draw_run(
    house: House,
    title: str,
    paths_m: Mapping[str, Sequence[Point]],
    moves: Sequence[Move],
    moments: Sequence[Moment],
    *,
    floor: FloorMap | None = None,
) -> Image.Image:
    """The whole sheet as an RGB picture; what is unexplored in a built map is shaded."""
    plan = _draw_plan(house, paths_m, moves, floor)
    columns = max(1, min(plan.width // (_THUMB_PX + _GAP_PX), len(moments)))
    rows = -(-len(moments) // columns) if moments else 0
    width = max(plan.width, columns * (_THUMB_PX + _GAP_PX) + _GAP_PX)
    big, small = ImageFont.load_default(20), ImageFont.load_default(13)
    titles = _wrapped(title, width - 2 * _GAP_PX, big)
    head = 30 + 26 * len(titles)
    cell = _THUMB_PX + _CAPTION_PX + _GAP_PX
    sheet = Image.new("RGB", (width, head + plan.height + rows * cell + _GAP_PX), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.multiline_text((_GAP_PX, 8), "\n".join(titles), _INK, big)
    _draw_legend(draw, list(paths_m), 8 + 26 * len(titles))
    sheet.paste(plan, ((width - plan.width) // 2, head))
    for index, moment in enumerate(moments):
        x = _GAP_PX + index % columns * (_THUMB_PX + _GAP_PX)
        y = head + plan.height + index // columns * cell
        sheet.paste(Image.fromarray(moment.rgb).resize((_THUMB_PX, _THUMB_PX)), (x, y))
        lines = _wrapped(moment.caption, _THUMB_PX, small)
        draw.multiline_text((x, y + _THUMB_PX + 3), "\n".join(lines), _INK, small)
    return sheet


def _wrapped(
    text: str, width_px: float, font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> list[str]:
    """The lines of a text wrapped to a width."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if line and font.getlength(longer) > width_px:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


def _draw_legend(draw: ImageDraw.ImageDraw, agents: Sequence[str], y: float) -> None:
    font = ImageFont.load_default(14)
    x = float(_GAP_PX)
    for index, agent in enumerate(agents):
        colour = AGENT_RGB[index % len(AGENT_RGB)]
        draw.line((x, y + 9, x + 26, y + 9), fill=colour, width=4)
        draw.text((x + 32, y), agent, _INK, font)
        x += 44 + draw.textlength(agent, font)
    draw.line((x, y + 9, x + 26, y + 9), fill=_MOVE_RGB, width=2)
    draw.text((x + 32, y), "moved", _INK, font)


def _draw_plan(
    house: House,
    paths_m: Mapping[str, Sequence[Point]],
    moves: Sequence[Move],
    floor: FloorMap | None,
) -> Image.Image:
    plan = draw_floor_plan(house, pixels_per_m=_SCALE_PX_PER_M)
    frame = MapFrame.of(house, _SCALE_PX_PER_M)
    if floor is not None:
        plan = draw_explored(plan, frame, floor)
    draw = ImageDraw.Draw(plan)
    for index, path in enumerate(paths_m.values()):
        points = [frame.to_pixels(x, y) for x, y in path]
        colour = AGENT_RGB[index % len(AGENT_RGB)]
        if len(points) > 1:
            draw.line(points, fill=colour, width=3, joint="curve")
        if points:
            x, y = points[0]
            draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill=_PAPER, outline=colour, width=3)
    for move in moves:
        _draw_arrow(draw, frame.to_pixels(*move.start_m), frame.to_pixels(*move.end_m))
    font = ImageFont.load_default(13)
    for move in moves:
        x, y = frame.to_pixels(*move.end_m)
        box = draw.textbbox((x + 8, y - 7), move.name, font)
        draw.rectangle((box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1), fill=_PAPER)
        draw.text((x + 8, y - 7), move.name, _MOVE_RGB, font)
    return plan


def _draw_arrow(draw: ImageDraw.ImageDraw, start: Point, end: Point) -> None:
    draw.line((*start, *end), fill=_MOVE_RGB, width=2)
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    tips = [
        (end[0] - 12 * math.cos(angle + side), end[1] - 12 * math.sin(angle + side))
        for side in (0.4, -0.4)
    ]
    draw.polygon([end, *tips], fill=_MOVE_RGB)
    draw.ellipse((start[0] - 4, start[1] - 4, start[0] + 4, start[1] + 4), fill=_MOVE_RGB)
