"""The picture of a run: agents' paths and moved objects on the floor plan, and key moments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from planner.houses.drawing import draw_floor_plan
from planner.houses.marks import MOVE_STYLE, Marks, Move, Point, agent_style, dashes
from planner.world.errors import PlannerError
from planner.world.floor_map import FloorMap
from planner.world.house import House
from planner.world.memory_wire import FrameLinks
from planner.world.observation import RgbImage

# The paths of agents on the map, through the frame tree: odometry has a frame of its own.

# Closer points add nothing visible to a picture.
MIN_STEP_M = 0.1


class AgentPaths:
    """The positions of agents over time, in `map`.

    Attributes:
        points: positions by agent, metres, oldest first.
    """

    def __init__(self, frames: FrameLinks) -> None:
        """Starts without agents; `frames` receives /tf and /tf_static."""
        self._frames = frames
        self.points: dict[str, list[Point]] = {}

    def follow(self, agent: str) -> None:
        """Starts following an agent."""
        self.points.setdefault(agent, [])

    def sample(self) -> None:
        """Records where the agents are now, except those whose pose on the map is unknown."""
        if self._frames.went_back:
            self._frames.forget()
        stamp_s = self._frames.newest_s
        if stamp_s is None:
            return
        for agent, path in self.points.items():
            pose = self._frames.pose(f"{agent}/base_link", stamp_s)
            if pose is None:
                continue
            here = (pose.position_m[0], pose.position_m[1])
            if not path or math.dist(here, path[-1]) > MIN_STEP_M:
                path.append(here)

    def clear(self) -> None:
        """Drops all paths: the world was reset."""
        for path in self.points.values():
            path.clear()


_INK = (30, 30, 30)
_PAPER = (255, 255, 255)
_THUMB_PX = 236
_GAP_PX = 12
_CAPTION_PX = 56
_SCALE_PX_PER_M = 80.0
_SAMPLE_PX = 64


@dataclass(frozen=True, slots=True)
class Moment:
    """A camera's picture with a caption of one or two lines."""

    caption: str
    rgb: RgbImage


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
    marks = Marks(tuple(map(tuple, paths_m.values())), tuple(moves), floor=floor)
    plan = draw_floor_plan(house, pixels_per_m=_SCALE_PX_PER_M, marks=marks)
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
    lines = [(agent, agent_style(index)) for index, agent in enumerate(agents)]
    for name, style in (*lines, ("moved", MOVE_STYLE)):
        pattern = [length * _SCALE_PX_PER_M for length in style.dash_m]
        for stroke in dashes([(x, y + 9), (x + _SAMPLE_PX, y + 9)], pattern):
            draw.line(stroke, fill=style.rgb, width=4)
        draw.text((x + _SAMPLE_PX + 6, y), name, _INK, font)
        x += _SAMPLE_PX + 18 + draw.textlength(name, font)
