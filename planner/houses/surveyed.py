"""What was measured and recorded in a real house, drawn over its floor plan: markers, a map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from planner.houses.label_layout import font
from planner.houses.map_frame import MapFrame
from planner.houses.ways import Colour, Point

_MARKER: Colour = (190, 20, 60)
_RECORDED: Colour = (30, 90, 200)
_HALO: Colour = (255, 255, 255)
_PAGE_M, _LOOK_M, _HEAD_M, _RING_M, _DOT_M = 0.3, 0.5, 0.12, 0.14, 0.05
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
            pen.dot(place, _DOT_M, _RECORDED)
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
        back = [(tip[0] + _HEAD_M * math.cos(a), tip[1] + _HEAD_M * math.sin(a)) for a in sides]
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
