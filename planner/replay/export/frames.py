"""Pictures at a constant rate of the world's time: at each instant the newest of each camera."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.replay.export.source import Camera, Received, Source
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage
from planner.world.picture_codec import decode_colour

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
