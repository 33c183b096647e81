"""`--to video`: an MP4 of the agents' views, with instruction, calls and progress as captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from planner.replay.export.source import Call, Source, Story, read_story
from planner.replay.export.video_file import H264, VideoFile, frames, instants, spans
from planner.world.errors import FileError
from planner.world.observation import RgbImage

# Text of a bag as a few lines of a picture.

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def wrapped(text: str, face: Font, room_px: float, max_lines: int) -> list[str]:
    """The first lines of a wrapped text; an ellipsis marks a cut."""
    lines: list[str] = []
    for word in _printable(text).split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and face.getlength(longer) <= room_px:
            lines[-1] = longer
        else:
            lines.append(word)
    shown = lines[:max_lines]
    if len(lines) > max_lines:
        shown[-1] += " ..."
    return [_cut(line, face, room_px) for line in shown]


def _cut(line: str, face: Font, room_px: float) -> str:
    if face.getlength(line) <= room_px:
        return line
    while line and face.getlength(f"{line}...") > room_px:
        line = line[:-1]
    return f"{line}..."


def _printable(text: str) -> str:
    # Cut before it is processed: a text in a bag may be megabytes.
    return "".join(c if c.isprintable() else " " for c in text[:2000])


# A frame of the video: the agents' views side by side, with captions of what is going on.

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


FPS, SPEED, CAMERA = 10, 1.0, "hand"
# An hour at 30 frames per second has 108,000: a stamp far off would otherwise yield endless ones.
MAX_FRAMES = 1_000_000


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """What is shown and how fast.

    Attributes:
        agents: whose pictures, from left to right; empty = all that have some.
        camera: name of their camera.
        fps: frames per second of the video.
        speed: seconds of the world per second of the video.
    """

    agents: Sequence[str] = ()
    camera: str = CAMERA
    fps: int = FPS
    speed: float = SPEED


def write_video(source: Source, path: Path, options: VideoOptions) -> int:
    """Writes the video; returns the number of frames.

    Raises:
        FileError: if the bag lacks the pictures or cannot be read.
        PlannerError: if FFmpeg lacks the encoder.
        OSError: if the file system refuses.
    """
    seen = [c.agent for c in source.cameras if c.rgb and c.name == options.camera]
    agents = list(dict.fromkeys(options.agents)) or seen or list(source.agents) or ["agent_0"]
    cameras = [source.camera(agent, options.camera) for agent in agents]
    found = spans(source, cameras)
    missing = [camera for camera in cameras if camera not in found]
    if missing:
        raise FileError(source.folder, missing[0].rgb, "has no picture")
    first_s = min(span.first_s for span in found.values())
    last_s = max(span.last_s for span in found.values())
    step_s = options.speed / options.fps
    if (last_s - first_s) / step_s > MAX_FRAMES:
        reason = f"pictures span {last_s - first_s:.0f} s: more than {MAX_FRAMES} frames"
        raise FileError(source.folder, cameras[0].rgb, reason)
    panels = [Panel(camera.agent, found[camera].size_px) for camera in cameras]
    # A robot's clock counts from 1970.
    captions = Captions(read_story(source), panels, 0.0 if source.simulated else first_s)
    with VideoFile(path, captions.size_px, options.fps, H264) as video:
        for frame in frames(source, cameras, instants(first_s, last_s, step_s)):
            pictures = {camera.agent: rgb for camera, rgb in frame.pictures.items()}
            video.add(captions.draw(frame.time_s, pictures))
    return video.frames
