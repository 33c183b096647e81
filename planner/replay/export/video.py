"""Pictures at a constant rate of the world's time, and MP4 files of them, by PyAV."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from planner.replay.export.source import Call, Camera, Received, Source, Story, read_story
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage
from planner.world.picture_codec import decode_colour

# Pictures at a constant rate of the world's time, and MP4 files of them, by PyAV.

# Pictures at a constant rate of the world's time: at each instant the newest of each camera.

# Stamps are converted to seconds and back.
_EQUAL_S = 1e-6
# Stop waiting for a camera that lags this far behind the others.
_LATE_S = 1.0


@dataclass(frozen=True, slots=True)
class Frame:
    """One instant: seconds on the world's clock, and the picture of each camera that has one."""

    time_s: float
    pictures: Mapping[Camera, RgbImage]


@dataclass(frozen=True, slots=True)
class Span:
    """First and last stamp of a camera's pictures, seconds on the world's clock."""

    first_s: float
    last_s: float
    size_px: tuple[int, int]


def spans(source: Source, cameras: Sequence[Camera]) -> dict[Camera, Span]:
    """Span and size (width, height) of each camera's pictures; omits cameras without pictures.

    Raises:
        FileError: if the bag or its first picture cannot be read.
    """
    by_topic = {camera.rgb: camera for camera in cameras}
    found: dict[Camera, Span] = {}
    for message in source.messages(list(by_topic)):
        camera = by_topic[message.topic]
        old = found.get(camera)
        if old is None:
            height, width = _picture(source, message).shape[:2]
            old = Span(message.world_s, message.world_s, (width, height))
        first_s, last_s = min(old.first_s, message.world_s), max(old.last_s, message.world_s)
        found[camera] = Span(first_s, last_s, old.size_px)
    return found


def instants(first_s: float, last_s: float, step_s: float) -> list[float]:
    """Instants from the first to the last, one step apart."""
    count = math.floor((last_s - first_s) / step_s + 1e-6) + 1
    return [first_s + number * step_s for number in range(max(count, 0))]


def frames(source: Source, cameras: Sequence[Camera], times_s: Sequence[float]) -> Iterator[Frame]:
    """The pictures at ascending times; of several with one stamp the last received.

    Only pictures that are shown are decoded.

    Raises:
        FileError: if the bag or a shown picture cannot be read.
    """
    by_topic = {camera.rgb: camera for camera in cameras}
    line = _FrameBuffer(source, cameras)
    waiting = iter(times_s)
    next_s = next(waiting, None)
    for message in source.messages(list(by_topic)):
        if next_s is None:
            return
        line.add(by_topic[message.topic], message)
        while next_s is not None and line.is_past(next_s):
            yield line.at(next_s)
            next_s = next(waiting, None)
    while next_s is not None:
        yield line.at(next_s)
        next_s = next(waiting, None)


class _FrameBuffer:
    """Received pictures of each camera that are not shown yet, and the current ones."""

    def __init__(self, source: Source, cameras: Sequence[Camera]) -> None:
        self._source = source
        self._coming: dict[Camera, deque[Received]] = {camera: deque() for camera in cameras}
        self._heard_s = dict.fromkeys(cameras, -math.inf)
        self._shown: dict[Camera, Received] = {}
        self._decoded: dict[Camera, tuple[Received, RgbImage]] = {}

    def add(self, camera: Camera, message: Received) -> None:
        """Takes a message in the order of receipt; ignores one with an older stamp."""
        if message.world_s >= self._heard_s[camera]:
            self._heard_s[camera] = message.world_s
            self._coming[camera].append(message)

    def is_past(self, time_s: float) -> bool:
        """Whether no more messages up to that time can come."""
        heard = self._heard_s.values()
        return min(heard) > time_s + _EQUAL_S or max(heard) > time_s + _LATE_S

    def at(self, time_s: float) -> Frame:
        """The pictures at a time, which must not be before the previous call's."""
        for camera, coming in self._coming.items():
            while coming and coming[0].world_s <= time_s + _EQUAL_S:
                self._shown[camera] = coming.popleft()
        for camera, message in self._shown.items():
            if camera not in self._decoded or self._decoded[camera][0] is not message:
                self._decoded[camera] = (message, _picture(self._source, message))
        return Frame(time_s, {camera: self._decoded[camera][1] for camera in self._shown})


def _picture(source: Source, message: Received) -> RgbImage:
    try:
        return decode_colour(message.content)
    except PlannerError as error:
        where = f"{message.topic} at {message.world_s:.3f} s"
        raise FileError(source.folder, where, str(error)) from None


@dataclass(frozen=True, slots=True)
class Codec:
    """An encoder: FFmpeg's name and its options."""

    encoder: str
    options: Mapping[str, str]
    pixels: str = "yuv420p"


# Supported by every player and browser.
H264 = Codec("libx264", {"crf": "23", "preset": "veryfast"})
# LeRobot's own choice: every other frame is a key frame, for fast random access.
AV1 = Codec("libsvtav1", {"crf": "30", "g": "2", "preset": "8"})


class VideoFile:
    """A video being written; leaving its `with` block completes it."""

    def __init__(self, path: Path, size_px: tuple[int, int], fps: int, codec: Codec = H264) -> None:
        """Prepares the video; the file appears with the first frame.

        Args:
            path: of the file.
            size_px: width and height; odd ones lose a row or column, since 4:2:0 needs even ones.
            fps: frames per second.
            codec: the encoder.

        Raises:
            PlannerError: if FFmpeg lacks the encoder.
        """
        import av

        self._av = av
        self.width_px, self.height_px = size_px[0] // 2 * 2, size_px[1] // 2 * 2
        if self.width_px < 2 or self.height_px < 2:
            raise PlannerError(f"a video of {size_px[0]}x{size_px[1]} pixels cannot be written")
        if codec.encoder not in av.codecs_available:
            raise PlannerError(f"the installed PyAV has no encoder {codec.encoder}")
        self.frames = 0
        # SVT-AV1 otherwise prints twenty lines about itself; 1 = errors only.
        os.environ.setdefault("SVT_LOG", "1")
        self._container = av.open(str(path), "w", format="mp4", options={"movflags": "faststart"})
        stream = self._container.add_stream(codec.encoder, rate=fps, options=dict(codec.options))
        if not isinstance(stream, av.VideoStream):
            raise PlannerError(f"{codec.encoder} encodes no videos")
        stream.width, stream.height, stream.pix_fmt = self.width_px, self.height_px, codec.pixels
        self._stream, self._frame_s = stream, Fraction(1, fps)

    def add(self, picture: RgbImage) -> None:
        """Adds a frame, (h, w, 3) uint8.

        Raises:
            PlannerError: if its size differs from the video's.
        """
        height, width = picture.shape[:2]
        if (height // 2 * 2, width // 2 * 2) != (self.height_px, self.width_px):
            size = f"{self.width_px}x{self.height_px}"
            raise PlannerError(f"a picture of {width}x{height} in a video of {size} pixels")
        pixels = np.ascontiguousarray(picture[: self.height_px, : self.width_px])
        frame = self._av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame.pts = self.frames
        frame.time_base = self._frame_s
        if self.frames == 0:
            # Opens the encoder.
            with _same_scheduling():
                packets = self._stream.encode(frame)
        else:
            packets = self._stream.encode(frame)
        self._container.mux(packets)
        self.frames += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._container.mux(self._stream.encode(None))
        finally:
            self._container.close()


@contextmanager
def _same_scheduling() -> Iterator[None]:
    """Takes back what an encoder does to the scheduling of this process.

    For root, SVT-AV1 makes the calling thread a real-time one, and so its own threads and every
    process that is started later: a robot's nodes would not get the processor any more.
    """
    before = {thread: _scheduling(thread) for thread in _threads()}
    own = _scheduling(0)
    try:
        yield
    finally:
        for thread in _threads():
            try:
                if _scheduling(thread) != (wanted := before.get(thread, own)):
                    os.sched_setscheduler(thread, wanted[0], os.sched_param(wanted[1]))
            except ProcessLookupError:
                # It has ended in the meantime.
                continue


def _threads() -> tuple[int, ...]:
    return tuple(int(each.name) for each in Path("/proc/self/task").iterdir())


def _scheduling(thread: int) -> tuple[int, int]:
    return os.sched_getscheduler(thread), os.sched_getparam(thread).sched_priority


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
