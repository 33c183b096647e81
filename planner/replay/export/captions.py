"""A frame of the video: the agents' views side by side, with captions of what is going on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from planner.replay.export.text_lines import wrapped
from planner.replay.export.timeline import Call, Story
from planner.world.observation import RgbImage

_PAPER, _INK, _PALE = (24, 24, 28), (240, 240, 240), (150, 150, 158)
_GOOD, _BAD = (110, 200, 120), (240, 120, 110)
_TEXT_PX, _LINE_PX, _GAP_PX = 14, 19, 8
_HEAD_LINES, _FOOT_LINES = 3, 3
_BAR_PX = 6
_Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Panel:
    """One agent's view: its pictures are drawn in this size (width, height)."""

    agent: str
    size_px: tuple[int, int]


class Captions:
    """Draws frames; captions are text of the bag, drawn glyph by glyph."""

    def __init__(self, story: Story, panels: Sequence[Panel], origin_s: float = 0.0) -> None:
        """Lays out the panels from left to right; shows times relative to `origin_s`."""
        self._story, self._panels, self._origin_s = story, panels, origin_s
        self._font = ImageFont.load_default(_TEXT_PX)
        self._head_px = _HEAD_LINES * _LINE_PX + 2 * _GAP_PX + _BAR_PX
        self._foot_px = _FOOT_LINES * _LINE_PX + 2 * _GAP_PX
        self._high_px = max(panel.size_px[1] for panel in panels)
        width = sum(panel.size_px[0] for panel in panels) + _GAP_PX * (len(panels) - 1)
        height = self._head_px + self._high_px + self._foot_px
        # Video with 4:2:0 subsampling needs even sizes.
        self.size_px = (width + width % 2, height + height % 2)

    def draw(self, time_s: float, pictures: Mapping[str, RgbImage]) -> RgbImage:
        """The frame at a time of the world, (h, w, 3) uint8.

        Args:
            time_s: seconds on the world's clock.
            pictures: by agent; the panel of an agent without one stays empty.
        """
        page = Image.new("RGB", self.size_px, _PAPER)
        pen = ImageDraw.Draw(page)
        self._draw_head(pen, time_s)
        left = 0
        for panel in self._panels:
            picture = pictures.get(panel.agent)
            if picture is not None:
                seen = Image.fromarray(picture)
                if seen.size != panel.size_px:
                    seen = seen.resize(panel.size_px)
                page.paste(seen, (left, self._head_px))
            self._draw_foot(pen, panel, left, time_s)
            left += panel.size_px[0] + _GAP_PX
        return np.asarray(page)

    def _draw_head(self, pen: ImageDraw.ImageDraw, time_s: float) -> None:
        story, width = self._story, self.size_px[0]
        share = story.progress.at(time_s)
        words = "" if share is None else f"  done: {100 * share:.0f} %"
        self._write(pen, (_GAP_PX, _GAP_PX), f"{clock_text(time_s - self._origin_s)}{words}", _PALE)
        text = story.instruction.at(time_s) or ""
        lines = wrapped(text, self._font, width - 2 * _GAP_PX, _HEAD_LINES - 1)
        for number, line in enumerate(lines, start=1):
            self._write(pen, (_GAP_PX, _GAP_PX + number * _LINE_PX), line, _INK)
        top = self._head_px - _BAR_PX
        pen.rectangle((0, top, width, self._head_px - 1), fill=(50, 50, 56))
        if share:
            right = round(width * min(share, 1.0)) - 1
            pen.rectangle((0, top, max(right, 0), self._head_px - 1), fill=_GOOD)

    def _draw_foot(self, pen: ImageDraw.ImageDraw, panel: Panel, left: int, time_s: float) -> None:
        top, room = self._head_px + self._high_px + _GAP_PX, panel.size_px[0] - 2 * _GAP_PX
        running = self._story.running(panel.agent, time_s)
        ended = self._story.result(panel.agent, time_s)
        lines = [
            (f"{panel.agent}: {running.call if running else 'waits'}", _INK),
            (_result_text(ended), _PALE if ended is None else _BAD if ended.code else _GOOD),
        ]
        y = top
        for text, colour in lines:
            allowed = 1 if colour is _INK else 2
            for line in wrapped(text, self._font, room, allowed):
                self._write(pen, (left + _GAP_PX, y), line, colour)
                y += _LINE_PX

    def _write(
        self, pen: ImageDraw.ImageDraw, at: tuple[int, int], text: str, colour: _Colour
    ) -> None:
        pen.text(at, text, fill=colour, font=self._font)


def clock_text(time_s: float) -> str:
    """Minutes and seconds, with tenths."""
    tenths = round(max(time_s, 0.0) * 10)
    return f"{tenths // 600:02d}:{tenths // 10 % 60:02d}.{tenths % 10}"


def _result_text(call: Call | None) -> str:
    return "" if call is None else f"{call.call}: {call.text}"
