"""What happened and was measured in a house, drawn on its floor plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

import numpy as np
from PIL import Image, ImageDraw

from planner.houses.label_layout import Label, MapFrame, extent_m, font
from planner.world.floor_map import FloorMap
from planner.world.geometry import FloatArray

# How agents' ways look: each has a colour and a dash of its own, and none looks like a wall.
#
# Pictures and pages use the same table: `test/planner/houses/test_marks.py` compares it with the
# report's style.

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


_PAPER: Colour = (255, 255, 255)
_INK: Colour = (34, 34, 38)
_WAY_M, _CASING_M, _MOVE_M = 0.05, 0.1, 0.035
_BODY_M, _START_M, _DOT_M = 0.2, 0.075, 0.06
_HEAD_M, _PIN_M = 0.16, 0.14
# A label this far from its thing is tied to it by a line.
_TIED_M = 0.12


@dataclass(frozen=True, slots=True)
class Body:
    """An agent's base: its index among the agents, position in metres, heading in radians."""

    index: int
    at_m: Point
    yaw_rad: float


@dataclass(frozen=True, slots=True)
class Marks:
    """What a floor plan shows of a run; positions in metres, map frame.

    Attributes:
        ways_m: of each agent, from the first on.
        moves: things that were carried.
        bodies: where agents are now.
        things_m: where things lie.
        carried_m: where things are that are in a hand.
        pins_m: numbered places, the first is 1.
        floor: a built map; what it does not know is shaded.
    """

    ways_m: tuple[tuple[Point, ...], ...] = ()
    moves: tuple[Move, ...] = ()
    bodies: tuple[Body, ...] = ()
    things_m: tuple[Point, ...] = ()
    carried_m: tuple[Point, ...] = ()
    pins_m: tuple[Point, ...] = ()
    floor: FloorMap | None = None


class MarkPen:
    """Draws marks on an image of a floor plan."""

    def __init__(self, draw: ImageDraw.ImageDraw, frame: MapFrame) -> None:
        """`frame`: of the image."""
        self._draw, self._frame = draw, frame

    def under_the_names(self, marks: Marks) -> None:
        """Everything but text."""
        for way in marks.ways_m:
            self._line(way, WayStyle(_PAPER), _CASING_M)
        for index, way in enumerate(marks.ways_m):
            self._line(way, agent_style(index), _WAY_M)
        for index, way in enumerate(marks.ways_m):
            if way:
                self._dot(way[0], _START_M, _PAPER, agent_style(index).rgb)
        for move in marks.moves:
            self._line((move.start_m, move.end_m), WayStyle(_PAPER), _MOVE_M * 2)
        for move in marks.moves:
            self._line((move.start_m, move.end_m), MOVE_STYLE, _MOVE_M)
            self._dot(move.start_m, _DOT_M * 0.8, MOVE_STYLE.rgb, _PAPER)
            self._head(move)
        for place in marks.things_m:
            self._dot(place, _DOT_M, _INK, _PAPER)
        for body in marks.bodies:
            self._body(body)
        for place in marks.carried_m:
            self._dot(place, _DOT_M * 1.3, MOVE_STYLE.rgb, _PAPER)
        for place in marks.pins_m:
            self._dot(place, _PIN_M, MOVE_STYLE.rgb, _PAPER)

    def tie(self, label: Label, at_m: Point) -> None:
        """A thin line from a label to its thing, where they are apart."""
        width, height = extent_m(label.text, label.size_m)
        x = min(max(at_m[0], label.at_m[0] - width / 2), label.at_m[0] + width / 2)
        y = min(max(at_m[1], label.at_m[1] - height / 2), label.at_m[1] + height / 2)
        if math.dist((x, y), at_m) > _TIED_M:
            self._line((at_m, (x, y)), WayStyle(MOVE_STYLE.rgb), 0.015)

    def _body(self, body: Body) -> None:
        (x, y), colour = body.at_m, agent_style(body.index).rgb
        self._dot((x, y), _BODY_M, colour, _PAPER)
        c, s = math.cos(body.yaw_rad), math.sin(body.yaw_rad)
        nose = [(_BODY_M * 1.7, 0.0), (_BODY_M * 0.5, -_BODY_M * 0.6), (_BODY_M * 0.5, 0.12)]
        corners = [self._frame.to_pixels(x + c * a - s * b, y + s * a + c * b) for a, b in nose]
        self._draw.polygon(corners, fill=colour)

    def _head(self, move: Move) -> None:
        (x, y), end = move.start_m, move.end_m
        angle = math.atan2(end[1] - y, end[0] - x)
        corners = [end] + [
            (end[0] - _HEAD_M * math.cos(angle + side), end[1] - _HEAD_M * math.sin(angle + side))
            for side in (0.4, -0.4)
        ]
        self._draw.polygon([self._frame.to_pixels(*c) for c in corners], fill=MOVE_STYLE.rgb)

    def _line(self, points_m: Sequence[Point], style: WayStyle, width_m: float) -> None:
        width = max(1, round(width_m * self._frame.pixels_per_m))
        for stroke in dashes(points_m, style.dash_m):
            pixels = [self._frame.to_pixels(x, y) for x, y in stroke]
            self._draw.line(pixels, fill=style.rgb, width=width, joint="curve")

    def _dot(self, at_m: Point, radius_m: float, fill: Colour, outline: Colour) -> None:
        x, y = self._frame.to_pixels(*at_m)
        r = radius_m * self._frame.pixels_per_m
        width = max(1, round(0.025 * self._frame.pixels_per_m))
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=outline, width=width)


# What was measured and recorded in a real house, drawn over its floor plan: markers, a map.

_MARKER: Colour = (190, 20, 60)
_RECORDED: Colour = (30, 90, 200)
_HALO: Colour = (255, 255, 255)
_PAGE_M, _LOOK_M, _SURVEYED_HEAD_M, _RING_M, _SURVEYED_DOT_M = 0.3, 0.5, 0.12, 0.14, 0.05
_TEXT_M = 0.2


@dataclass(frozen=True, slots=True)
class PlanMarker:
    """A printed marker: its number, its place in metres and the direction that the page faces."""

    tag: int
    at_m: Point
    faces_rad: float


@dataclass(frozen=True, slots=True)
class RecordedMap:
    """A recorded map in the frame of the floor plan, in metres.

    Attributes:
        waypoints_m: where its waypoints are.
        edges_m: the ends of each edge.
        markers_m: where it has markers, by their names.
    """

    waypoints_m: Sequence[Point] = ()
    edges_m: Sequence[tuple[Point, Point]] = ()
    markers_m: Mapping[str, Point] | None = None


def draw_surveyed(
    plan: Image.Image,
    frame: MapFrame,
    markers: Sequence[PlanMarker],
    recorded: RecordedMap | None = None,
) -> Image.Image:
    """A floor plan with the layout's markers in red and a recorded map in blue.

    A marker is a line, the page seen from above, and an arrow to where it faces. A ring is where
    the recorded map has a marker: it is around the page if map and layout agree.

    Args:
        plan: of the house; it stays as it is.
        frame: of the plan.
        markers: of the layout.
        recorded: the map, aligned with the layout.

    Returns:
        A new RGB image of the plan's size.
    """
    drawn = plan.convert("RGB")
    pen = _Pen(ImageDraw.Draw(drawn), frame)
    if recorded is not None:
        for ends in recorded.edges_m:
            pen.line(ends, _RECORDED, 0.02)
        for place in recorded.waypoints_m:
            pen.dot(place, _SURVEYED_DOT_M, _RECORDED)
        for name, place in (recorded.markers_m or {}).items():
            pen.ring(place, _RING_M, _RECORDED)
            if all(str(marker.tag) != name for marker in markers):
                pen.name(name, (place[0], place[1] - _RING_M - _TEXT_M / 2), _RECORDED)
    for marker in markers:
        pen.marker(marker)
    return drawn


class _Pen:
    """Draws in metres."""

    def __init__(self, draw: ImageDraw.ImageDraw, frame: MapFrame) -> None:
        self._draw, self._frame = draw, frame

    def line(self, points_m: Sequence[Point], colour: Colour, width_m: float) -> None:
        pixels = [self._frame.to_pixels(*point) for point in points_m]
        self._draw.line(pixels, fill=colour, width=self._px(width_m))

    def dot(self, at_m: Point, radius_m: float, colour: Colour) -> None:
        self._draw.ellipse(self._around(at_m, radius_m), fill=colour)

    def ring(self, at_m: Point, radius_m: float, colour: Colour) -> None:
        self._draw.ellipse(self._around(at_m, radius_m), outline=colour, width=self._px(0.03))

    def marker(self, marker: PlanMarker) -> None:
        (x, y), c, s = marker.at_m, math.cos(marker.faces_rad), math.sin(marker.faces_rad)
        half = _PAGE_M / 2
        self.line([(x - s * half, y + c * half), (x + s * half, y - c * half)], _MARKER, 0.06)
        tip = (x + c * _LOOK_M, y + s * _LOOK_M)
        self.line([(x, y), tip], _MARKER, 0.03)
        sides = [marker.faces_rad + math.pi + turn for turn in (0.5, -0.5)]
        back = [
            (tip[0] + _SURVEYED_HEAD_M * math.cos(a), tip[1] + _SURVEYED_HEAD_M * math.sin(a))
            for a in sides
        ]
        self._draw.polygon([self._frame.to_pixels(*each) for each in (tip, *back)], fill=_MARKER)
        beyond = _LOOK_M + _TEXT_M
        self.name(str(marker.tag), (x + c * beyond, y + s * beyond), _MARKER)

    def name(self, text: str, at_m: Point, colour: Colour) -> None:
        face = font(max(11, self._px(_TEXT_M)))
        place = self._frame.to_pixels(*at_m)
        self._draw.text(
            place, text, fill=colour, font=face, anchor="mm", stroke_width=2, stroke_fill=_HALO
        )

    def _around(self, at_m: Point, radius_m: float) -> tuple[float, float, float, float]:
        (x, y), r = self._frame.to_pixels(*at_m), radius_m * self._frame.pixels_per_m
        return (x - r, y - r, x + r, y + r)

    def _px(self, length_m: float) -> int:
        return max(1, round(length_m * self._frame.pixels_per_m))
