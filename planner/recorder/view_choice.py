"""Which exposures a recording keeps: those of which the picture has changed since the last kept.

What has changed is compared in the pictures themselves. They show it however it came about: the
camera moved, or something in its view did.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Pixels: TypeAlias = NDArray[Any]

# Pixels that are compared along each side of a picture, evenly apart.
SAMPLES = 96
# A pixel has changed if a channel differs by so much of 255, or depth by this share of itself,
# which is more than noise of cameras.
COLOUR_STEP, DEPTH_SHARE = 20, 0.05
# A view has changed if this share of its pixels has, as by a cup at 2 m.
LEAST_CHANGED = 0.0005
# World seconds after which an unchanged view is kept again.
LONGEST_S = 5.0
_NS = 1_000_000_000
# Exposures whose other pictures may still come.
_DECIDED = 64
# The pictures of one exposure, whose topics differ in the second word only.
_TOPIC = re.compile(r"(.*)/(?:camera|depth_registered|instances)/(\w+)/image(?:/\w+)?")


@dataclass(slots=True)
class _Camera:
    """What was decided of one camera's exposures.

    Attributes:
        decided: whether an exposure is kept, by its stamp, of the newest ones.
        kept: a sample of each topic's last kept picture.
        newest: the last stamp of each topic.
        slot: of the newest exposure that was looked at.
        kept_ns: stamp of the last kept one.
    """

    decided: OrderedDict[int, bool] = field(default_factory=OrderedDict)
    kept: dict[str, Pixels] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    slot: int = -1
    kept_ns: int = -1


class ViewChoice:
    """Decides of each exposure once, by the first of its pictures that comes."""

    def __init__(
        self,
        period_ns: int,
        bytes_per_minute: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Looks at the first exposure in each period, as a memory with that period does.

        Args:
            period_ns: of the world's time.
            bytes_per_minute: how much may be kept, a minute's worth of it at once; 0 = any.
            clock: by which minutes pass, seconds.
        """
        self._period_ns = period_ns
        self._cameras: dict[str, _Camera] = {}
        self._most, self._left = bytes_per_minute, bytes_per_minute
        self._clock, self._at_s = clock, clock()

    def spend(self, count: int) -> None:
        """Tells how many bytes a kept picture took; more may be taken than is left."""
        self._left -= count

    def _has_room(self) -> bool:
        now_s = self._clock()
        earned = self._most / 60 * (now_s - self._at_s)
        self._left, self._at_s = min(self._most, self._left + earned), now_s
        return self._left > 0 or not self._most

    def keeps(self, topic: str, stamp_ns: int, read: Callable[[], Pixels]) -> bool:
        """Whether a picture is kept.

        Args:
            topic: on which it came.
            stamp_ns: when it was taken.
            read: its pixels, asked for only if they matter.
        """
        name = _exposed_by(topic)
        camera = self._cameras.setdefault(name, _Camera())
        newest = camera.newest.get(topic, -1)
        if stamp_ns == newest:
            # What stands is published now and then.
            return False
        if stamp_ns < newest:
            # The world has begun anew, and its stamps come again.
            camera = self._cameras[name] = _Camera()
        camera.newest[topic] = stamp_ns
        known = camera.decided.get(stamp_ns)
        if known is False:
            return False
        if known is None:
            slot = stamp_ns // self._period_ns
            if slot == camera.slot:
                return self._decide(camera, stamp_ns, kept=False)
            camera.slot = slot
            if not self._has_room():
                return self._decide(camera, stamp_ns, kept=False)
        sample = _sampled(read())
        if known is None and not self._has_changed(camera, topic, stamp_ns, sample):
            return self._decide(camera, stamp_ns, kept=False)
        camera.kept[topic], camera.kept_ns = sample, stamp_ns
        return self._decide(camera, stamp_ns, kept=True)

    @staticmethod
    def _decide(camera: _Camera, stamp_ns: int, *, kept: bool) -> bool:
        camera.decided[stamp_ns] = kept
        if len(camera.decided) > _DECIDED:
            camera.decided.popitem(last=False)
        return kept

    @staticmethod
    def _has_changed(camera: _Camera, topic: str, stamp_ns: int, sample: Pixels) -> bool:
        before = camera.kept.get(topic)
        waited_ns = stamp_ns - camera.kept_ns
        if before is None or before.shape != sample.shape or waited_ns >= LONGEST_S * _NS:
            return True
        return changed_share(before, sample) >= LEAST_CHANGED


def changed_share(before: Pixels, now: Pixels) -> float:
    """The share of pixels that differ by more than noise; both (h, w) or (h, w, channels).

    Colours are compared at the same mean brightness: another exposure is no change.
    """
    if now.dtype == np.uint8:
        gain = np.float32(max(float(before.mean()), 1.0) / max(float(now.mean()), 1.0))
        differs = np.abs(now * gain - before) > COLOUR_STEP
        return float(np.mean(differs if differs.ndim == 2 else differs.any(axis=2)))
    if now.dtype == np.int32:
        return float(np.mean(now != before))
    # Depth, in any unit.
    a, b = np.nan_to_num(before.astype(np.float32)), np.nan_to_num(now.astype(np.float32))
    return float(np.mean(np.abs(a - b) > DEPTH_SHARE * np.maximum(a, b)))


def _sampled(pixels: Pixels) -> Pixels:
    """Pixels evenly apart, a copy: the rest of the picture need not stay in memory."""
    rows, columns = (
        np.linspace(0, size - 1, min(size, SAMPLES)).astype(np.intp) for size in pixels.shape[:2]
    )
    return pixels[np.ix_(rows, columns)].copy()


def _exposed_by(topic: str) -> str:
    """The name of the camera whose exposures a topic shows, or of the topic alone."""
    match = _TOPIC.fullmatch(topic)
    return f"{match[1]}/{match[2]}" if match else topic
