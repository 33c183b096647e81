"""Pictures of a run: a few of each camera, small, as JPEG.

Pictures are raw (sensor_msgs/Image) or compressed (sensor_msgs/CompressedImage); a small JPEG is
used as it is. Only pictures that are kept are decoded.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from planner.replay.report.document import Picture
from planner.replay.report.tracks import WorldClock
from planner.world.errors import PlannerError
from planner.world.memory_wire import stamp_seconds
from planner.world.picture_codec import decode_colour

RAW = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
_SIDE_PX = 320
_QUALITY = 72
# A larger file with so few pixels contains more than the picture.
_MAX_BYTES = 40_000
_JPEG = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class CameraFrame:
    """A picture that is kept."""

    received_ns: int
    stamp_s: float
    width_px: int
    height_px: int
    jpeg: bytes


@dataclass(slots=True)
class Camera:
    """Keeps the first picture in each of equal parts of the recording.

    Attributes:
        agent: whose camera it is.
        read: deserialises its messages, Image or CompressedImage, or raises ValueError.
        topic: of its pictures.
        start_ns: start of the recording.
        slot_ns: length of a part.
        shots: the kept pictures.
    """

    agent: str
    read: Callable[[memoryview], Any]
    topic: str
    start_ns: int
    slot_ns: int
    shots: list[CameraFrame] = field(default_factory=list)
    _next_ns: int = 0

    def take(self, received_ns: int, data: memoryview) -> None:
        """Takes a picture if the last one is from an earlier part.

        Raises:
            ValueError: if the message has another type or no picture.
        """
        if received_ns < self._next_ns:
            return
        self._next_ns = received_ns - (received_ns - self.start_ns) % self.slot_ns + self.slot_ns
        message = self.read(data)
        width, height, jpeg = small_picture(message)
        stamp_s = stamp_seconds(message.header.stamp)
        self.shots.append(CameraFrame(received_ns, stamp_s, width, height, jpeg))

    def pictures(self, clock: WorldClock) -> list[tuple[Picture, bytes]]:
        """The kept pictures, on the report's axis."""
        return [
            (
                Picture(
                    clock.at(shot.stamp_s, shot.received_ns),
                    self.agent,
                    shot.width_px,
                    shot.height_px,
                ),
                shot.jpeg,
            )
            for shot in self.shots
        ]


def small_picture(message: Any) -> tuple[int, int, bytes]:
    """Width, height and small JPEG of an Image or CompressedImage.

    Raises:
        ValueError: if it has no picture.
    """
    try:
        pixels = decode_colour(message)
    except PlannerError as error:
        raise ValueError(f"no picture: {error}") from None
    height, width = pixels.shape[:2]
    if not hasattr(message, "encoding") and max(width, height) <= _SIDE_PX:
        packed = message.data.tobytes()
        if packed.startswith(_JPEG) and len(packed) <= _MAX_BYTES:
            return width, height, packed
    return _encoded(Image.fromarray(pixels))


def pictures_of(
    cameras: Sequence[Camera], clock: WorldClock, max_bytes: int
) -> list[tuple[Picture, bytes]]:
    """The pictures of all cameras in the order of time; every second one if they are too large."""
    kept = [camera.pictures(clock) for camera in cameras]
    while sum(len(data) for each in kept for _, data in each) > max_bytes and any(kept):
        kept = [each[::2] if len(each) > 1 else [] for each in kept]
    found = [picture for each in kept for picture in each]
    return sorted(found, key=lambda pair: (pair[0].t_s, pair[0].agent))


def _encoded(image: Image.Image) -> tuple[int, int, bytes]:
    scale = _SIDE_PX / max(image.size)
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY, optimize=False)
    return *image.size, out.getvalue()
