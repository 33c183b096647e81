"""The four headings of the compass: +x of the map is east, +y north."""

from __future__ import annotations

import math
from enum import Enum


class Heading(Enum):
    """A quarter of the compass, in the order in which ties are decided; the value is in radians."""

    NORTH = math.pi / 2
    SOUTH = -math.pi / 2
    EAST = 0.0
    WEST = math.pi

    @property
    def yaw_rad(self) -> float:
        """About z of the map, from +x."""
        return self.value

    @property
    def right(self) -> Heading:
        """After a turn of 90 degrees to the right."""
        return heading_of(self.value - math.pi / 2)


def heading_of(yaw_rad: float) -> Heading:
    """The nearest heading of a body."""
    return _ROUND[round(yaw_rad / (math.pi / 2)) % 4]


_ROUND = (Heading.EAST, Heading.NORTH, Heading.WEST, Heading.SOUTH)
