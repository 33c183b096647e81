"""Pictures of a run: a few of each camera, small, as JPEG.

Pictures are raw (sensor_msgs/Image) or compressed (sensor_msgs/CompressedImage); a small JPEG is
used as it is. Only pictures that are kept are decoded.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, UnidentifiedImageError

from planner.replay.report.document import Picture
from planner.replay.report.tracks import WorldClock, stamp_in

RAW = "sensor_msgs/msg/Image"
COMPRESSED = "sensor_msgs/msg/CompressedImage"
_SIDE_PX = 320
_QUALITY = 72
# A larger file with so few pixels contains more than the picture.
_MAX_BYTES = 40_000
_U32 = struct.Struct("<I").unpack_from
_SIZE = struct.Struct("<II").unpack_from
# More than any camera of a robot has; larger numbers are from a broken or hostile message.
_MAX_PIXELS = 40_000_000
_CHANNELS = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


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
        compressed: whether its messages are CompressedImage.
        topic: of its pictures.
        start_ns: start of the recording.
        slot_ns: length of a part.
        shots: the kept pictures.
    """

    agent: str
    compressed: bool
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
        stamp_s = stamp_in(data)
        width, height, jpeg = small_picture(data, compressed=self.compressed)
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


def small_picture(data: memoryview, *, compressed: bool) -> tuple[int, int, bytes]:
    """Width, height and small JPEG of a serialised Image or CompressedImage.

    Raises:
        ValueError: if the message has another type or no picture.
    """
    try:
        return _read_compressed(data) if compressed else _read_raw(data)
    except (struct.error, OSError, UnidentifiedImageError, Image.DecompressionBombError) as e:
        raise ValueError(f"no picture: {e}") from None


def pictures_of(
    cameras: Sequence[Camera], clock: WorldClock, max_bytes: int
) -> list[tuple[Picture, bytes]]:
    """The pictures of all cameras in the order of time; every second one if they are too large."""
    kept = [camera.pictures(clock) for camera in cameras]
    while sum(len(data) for each in kept for _, data in each) > max_bytes and any(kept):
        kept = [each[::2] if len(each) > 1 else [] for each in kept]
    found = [picture for each in kept for picture in each]
    return sorted(found, key=lambda pair: (pair[0].t_s, pair[0].agent))


def _text(data: memoryview, at: int) -> tuple[str, int]:
    at += -(at - 4) % 4
    (length,) = _U32(data, at)
    at += 4
    if length < 1 or at + length > len(data):
        raise ValueError("no picture: a text is cut off")
    return bytes(data[at : at + length - 1]).decode("utf-8", "replace"), at + length


def _read_raw(data: memoryview) -> tuple[int, int, bytes]:
    """Parses an Image: header, height, width, encoding, byte order, row length, bytes."""
    _, at = _text(data, 12)
    at += -(at - 4) % 4
    height, width = _SIZE(data, at)
    encoding, at = _text(data, at + 8)
    at += 1
    at += -(at - 4) % 4
    step, length = _SIZE(data, at)
    at += 8
    channels = _CHANNELS.get(encoding)
    if channels is None:
        raise ValueError(f"no picture: encoding {encoding[:20]!r} is not one of {[*_CHANNELS]}")
    row = width * channels
    if not 0 < width * height <= _MAX_PIXELS or step < row or length < step * height:
        raise ValueError(f"no picture: {width} x {height}, rows of {step} bytes, {length} in all")
    if at + step * height > len(data):
        raise ValueError("no picture: it is cut off")
    pixels = np.frombuffer(data, np.uint8, step * height, at).reshape(height, step)[:, :row]
    pixels = pixels.reshape(height, width, channels)
    if encoding.startswith("bgr"):
        pixels = pixels[:, :, [2, 1, 0]]
    return _encoded(Image.fromarray(np.ascontiguousarray(pixels[:, :, :3].squeeze())))


def _read_compressed(data: memoryview) -> tuple[int, int, bytes]:
    """Parses a CompressedImage: header, format, bytes."""
    _, at = _text(data, 12)
    _, at = _text(data, at)
    at += -(at - 4) % 4
    (length,) = _U32(data, at)
    packed = bytes(data[at + 4 : at + 4 + length])
    if len(packed) < length:
        raise ValueError("no picture: it is cut off")
    # No other formats: each additional decoder could be attacked by a hostile bag.
    with Image.open(io.BytesIO(packed), formats=("JPEG", "PNG")) as image:
        width, height = image.size
        if width * height > _MAX_PIXELS:
            raise ValueError(f"no picture: {width} x {height}")
        small = max(width, height) <= _SIDE_PX and length <= _MAX_BYTES
        if image.format == "JPEG" and small:
            image.load()
            return width, height, packed
        image.draft("RGB", (_SIDE_PX, _SIDE_PX))
        return _encoded(image)


def _encoded(image: Image.Image) -> tuple[int, int, bytes]:
    small = image.convert("RGB")
    scale = _SIDE_PX / max(small.size)
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in small.size)
        small = small.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2.0)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=_QUALITY, optimize=False)
    return *small.size, out.getvalue()
