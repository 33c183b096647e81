"""A picture of a robot of others as it came: taken at a time of its own, decoded when needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.world.observation import DepthImage, Intrinsics, RgbImage


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """A picture and its registered depth as an ideal pinhole sees them; units of `CameraFrame`."""

    rgb: RgbImage
    depth_m: DepthImage
    intrinsics: Intrinsics


class RobotPicture:
    """A colour picture and its registered depth.

    Attributes:
        stamp_s: when it was taken, on the robot's clock.
        frame: the optical frame of both.
    """

    __slots__ = ("_pixels", "_read", "frame", "stamp_s")

    def __init__(self, stamp_s: float, frame: str, read: Callable[[], Pixels]) -> None:
        """`read` decodes it, or raises PlannerError."""
        self.stamp_s, self.frame, self._read = stamp_s, frame, read
        self._pixels: Pixels | None = None

    def pixels(self) -> Pixels:
        """What it shows; decoded the first time.

        Raises:
            PlannerError: if it cannot be read.
        """
        if self._pixels is None:
            self._pixels = self._read()
        return self._pixels


@dataclass(frozen=True, slots=True)
class CameraNews:
    """What came from one camera.

    Attributes:
        pictures: the last ones that can be used, oldest first.
        good_s: receipt of the newest one that can be used, on the listener's clock; -inf = never.
        heard_s: receipt of the newest one, usable or not.
        problem: why the newest one cannot be used; empty if it can.
    """

    pictures: tuple[RobotPicture, ...] = ()
    good_s: float = -math.inf
    heard_s: float = -math.inf
    problem: str = ""
