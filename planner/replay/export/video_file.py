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

from planner.replay.export.source import Camera, Received, Source
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage
from planner.world.picture_codec import decode_colour

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
