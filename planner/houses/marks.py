"""What happened in a house, drawn on its floor plan: ways, carried things, bodies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import ImageDraw

from planner.houses.label_layout import Label, extent_m
from planner.houses.map_frame import MapFrame
from planner.houses.ways import MOVE_STYLE, Colour, Move, Point, WayStyle, agent_style, dashes
from planner.world.floor_map import FloorMap

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
