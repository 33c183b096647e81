"""How agents' ways look: each has a colour and a dash of its own, and none looks like a wall.

Pictures and pages use the same table: `test/planner/houses/test_ways.py` compares it with the
report's style.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

import numpy as np

from planner.world.geometry import FloatArray

Point = tuple[float, float]
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class WayStyle:
    """A line: red, green and blue from 0 to 255; metres of stroke and gap in turn, () = solid."""

    rgb: Colour
    dash_m: tuple[float, ...] = ()


AGENT_STYLES: tuple[WayStyle, ...] = (
    WayStyle((30, 90, 200)),
    WayStyle((200, 80, 20), (0.35, 0.14)),
    WayStyle((30, 140, 60), (0.12, 0.12)),
    WayStyle((130, 40, 150), (0.5, 0.12, 0.1, 0.12)),
    WayStyle((0, 130, 140), (0.22, 0.22)),
    WayStyle((90, 90, 0), (0.35, 0.1, 0.08, 0.1, 0.08, 0.1)),
)
MOVE_STYLE = WayStyle((190, 20, 60), (0.05, 0.1))


def agent_style(index: int) -> WayStyle:
    """The style of an agent's way; repeated from the start where there are more agents."""
    return AGENT_STYLES[index % len(AGENT_STYLES)]


@dataclass(frozen=True, slots=True)
class Move:
    """An object that was carried from one place to another, map frame."""

    name: str
    start_m: Point
    end_m: Point


def dashes(points: Sequence[Point], pattern: Sequence[float]) -> Iterator[list[Point]]:
    """The strokes of a dashed line.

    Args:
        points: corners of the line.
        pattern: lengths of stroke and gap in turn, all positive; empty = one stroke.

    Yields:
        The corners of each stroke, at least two.
    """
    if not pattern:
        if len(points) > 1:
            yield list(points)
        return
    lengths = cycle(enumerate(pattern))
    index, left = next(lengths)
    stroke = [points[0]] if points else []
    for (x0, y0), (x1, y1) in pairwise(points):
        length = math.dist((x0, y0), (x1, y1))
        gone = 0.0
        while length - gone > left:
            gone += left
            here = (x0 + (x1 - x0) * gone / length, y0 + (y1 - y0) * gone / length)
            if index % 2 == 0:
                yield [*stroke, here]
            stroke = [here]
            index, left = next(lengths)
        left -= length - gone
        if index % 2 == 0:
            stroke.append((x1, y1))
    if index % 2 == 0 and len(stroke) > 1:
        yield stroke


def sampled(ways_m: Sequence[Sequence[Point]], step_m: float = 0.1) -> FloatArray:
    """(n, 2) points along all ways, one step apart."""
    found = [np.empty((0, 2))]
    for way in ways_m:
        for start, end in pairwise(way):
            count = max(1, math.ceil(math.dist(start, end) / step_m))
            shares = np.arange(count)[:, None] / count
            found.append(np.asarray(start) + shares * (np.asarray(end) - np.asarray(start)))
    return np.concatenate(found)
