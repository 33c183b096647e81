"""Axis-aligned rectangles for planning rooms and furniture; metres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Rect:
    """The closed rectangle [x0, x1] x [y0, y1]."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Extent along x."""
        return self.x1 - self.x0

    @property
    def depth(self) -> float:
        """Extent along y."""
        return self.y1 - self.y0

    @property
    def area_m2(self) -> float:
        """Width times depth."""
        return self.width * self.depth

    @property
    def short_side(self) -> float:
        """The smaller of width and depth."""
        return min(self.width, self.depth)

    @property
    def aspect(self) -> float:
        """Long side over short side; infinite for a degenerate rectangle."""
        short = self.short_side
        return max(self.width, self.depth) / short if short > 0 else float("inf")

    def grown(self, by: float) -> Rect:
        """Grown on all four sides, or shrunk if negative."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def moved(self, x: float, y: float) -> Rect:
        """Shifted by (x, y)."""
        return Rect(self.x0 + x, self.y0 + y, self.x1 + x, self.y1 + y)

    def turned(self, quarters: int) -> Rect:
        """Rotated about the origin by quarter turns counter-clockwise."""
        return (
            self,
            Rect(-self.y1, self.x0, -self.y0, self.x1),
            Rect(-self.x1, -self.y1, -self.x0, -self.y0),
            Rect(self.y0, -self.x1, self.y1, -self.x0),
        )[quarters % 4]

    def corners(self) -> tuple[tuple[float, float], ...]:
        """Counter-clockwise from the lower left."""
        return ((self.x0, self.y0), (self.x1, self.y0), (self.x1, self.y1), (self.x0, self.y1))


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight piece of wall: at `at` across its axis, from `low` to `high` along it."""

    axis: Literal["x", "y"]
    at: float
    low: float
    high: float

    @property
    def length(self) -> float:
        """From `low` to `high`."""
        return self.high - self.low


def shared_wall(a: Rect, b: Rect) -> Wall | None:
    """The wall that two non-overlapping rectangles share."""
    for one, two in ((a, b), (b, a)):
        if abs(one.x1 - two.x0) < 1e-6:
            low, high = max(a.y0, b.y0), min(a.y1, b.y1)
            if high - low > 1e-6:
                return Wall("y", one.x1, low, high)
        if abs(one.y1 - two.y0) < 1e-6:
            low, high = max(a.x0, b.x0), min(a.x1, b.x1)
            if high - low > 1e-6:
                return Wall("x", one.y1, low, high)
    return None


def outer_walls(rect: Rect, others: list[Rect]) -> list[Wall]:
    """The pieces of a rectangle's sides that no other rectangle touches, longest first."""
    sides = (
        Wall("x", rect.y0, rect.x0, rect.x1),
        Wall("x", rect.y1, rect.x0, rect.x1),
        Wall("y", rect.x0, rect.y0, rect.y1),
        Wall("y", rect.x1, rect.y0, rect.y1),
    )
    taken = [wall for other in others if (wall := shared_wall(rect, other)) is not None]
    free: list[Wall] = []
    for side in sides:
        pieces = [(side.low, side.high)]
        for wall in taken:
            if wall.axis == side.axis and abs(wall.at - side.at) < 1e-6:
                pieces = [
                    (low, high)
                    for start, end in pieces
                    for low, high in ((start, min(end, wall.low)), (max(start, wall.high), end))
                    if high - low > 1e-6
                ]
        free += [Wall(side.axis, side.at, low, high) for low, high in pieces]
    return sorted(free, key=lambda wall: -wall.length)
