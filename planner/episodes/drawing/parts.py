"""Parts of a picture, placed beside and below each other without overlapping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.episodes.drawing.shapes import Point, Shape, moved

Anchor = tuple[str, ...]
"""What an arrow begins or ends at: a kind and names."""


@dataclass(frozen=True, slots=True)
class Part:
    """Shapes in a rectangle, whose top left corner is (0, 0); anchors are points in it."""

    width: float
    height: float
    shapes: tuple[Shape, ...] = ()
    anchors: Mapping[Anchor, Point] = field(default_factory=dict)

    def at(self, dx: float, dy: float) -> Part:
        """The same part elsewhere; its size includes the shift."""
        anchors = {key: (x + dx, y + dy) for key, (x, y) in self.anchors.items()}
        return Part(self.width + dx, self.height + dy, tuple(moved(self.shapes, dx, dy)), anchors)


def over(parts: Iterable[Part]) -> Part:
    """Parts in the same rectangle, later ones on top."""
    parts = list(parts)
    anchors = {key: point for part in parts for key, point in part.anchors.items()}
    return Part(
        max((part.width for part in parts), default=0.0),
        max((part.height for part in parts), default=0.0),
        tuple(shape for part in parts for shape in part.shapes),
        anchors,
    )


def beside(parts: Sequence[Part], gap: float, *, bottoms: bool = False) -> Part:
    """Parts from left to right, with their tops, or their bottoms, at one height."""
    height = max((part.height for part in parts), default=0.0)
    placed, x = [], 0.0
    for part in parts:
        placed.append(part.at(x, height - part.height if bottoms else 0.0))
        x += part.width + gap
    return over(placed)


def below(parts: Sequence[Part], gap: float, *, centred: bool = False) -> Part:
    """Parts from top to bottom; empty ones take no room."""
    parts = [part for part in parts if part.height > 0]
    width = max((part.width for part in parts), default=0.0)
    placed, y = [], 0.0
    for part in parts:
        placed.append(part.at((width - part.width) / 2 if centred else 0.0, y))
        y += part.height + gap
    return over(placed)


def rows(parts: Sequence[Part], max_width: float, gap: float) -> list[list[Part]]:
    """Parts in rows of a maximum width, in their order; a wider part has a row of its own."""
    found: list[list[Part]] = []
    x = 0.0
    for part in parts:
        if not found or x + gap + part.width > max_width:
            found.append([part])
            x = part.width
        else:
            found[-1].append(part)
            x += gap + part.width
    return found
