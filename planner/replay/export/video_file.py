"""Writes MP4 files of constant frame rate, by PyAV."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from planner.world.errors import PlannerError
from planner.world.observation import RgbImage


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
