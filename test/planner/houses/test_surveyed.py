"""Markers and a recorded map on a floor plan."""

from __future__ import annotations

import math

from PIL import Image

from planner.houses.map_frame import MapFrame
from planner.houses.surveyed import PlanMarker, RecordedMap, draw_surveyed
from planner.world.house import House

RED, BLUE, WHITE = (190, 20, 60), (30, 90, 200), (255, 255, 255)


def test_a_marker_is_a_page_with_an_arrow_to_where_it_faces_and_a_map_has_rings(
    small_house: House,
) -> None:
    frame = MapFrame.of(small_house, 60.0)
    plan = Image.new("RGB", (frame.width_px, frame.height_px), WHITE)
    x0, y0, _, _ = small_house.bounds_m
    at = (x0 + 1.0, y0 + 1.0)
    recorded = RecordedMap(
        [(x0 + 2.0, y0 + 0.5)],
        [((x0 + 2.0, y0 + 0.5), (x0 + 3.0, y0 + 0.5))],
        {"7": at, "8": (x0 + 2.0, y0 + 2.0)},
    )
    drawn = draw_surveyed(plan, frame, [PlanMarker(7, at, math.pi / 2)], recorded)

    def colour(x_m: float, y_m: float) -> tuple[int, ...]:
        column, row = frame.to_pixels(x_m, y_m)
        pixel = drawn.getpixel((int(column), int(row)))
        assert isinstance(pixel, tuple)
        return pixel

    # It faces +y: the page lies along x, the arrow leads up, nothing leads down.
    assert colour(at[0] + 0.11, at[1]) == RED
    assert colour(at[0], at[1] + 0.35) == RED
    assert colour(at[0], at[1] - 0.35) == WHITE
    assert colour(at[0], at[1] - 0.13) == BLUE
    assert colour(x0 + 2.0, y0 + 0.5) == colour(x0 + 2.5, y0 + 0.5) == BLUE
    assert colour(x0 + 2.13, y0 + 2.0) == BLUE
    assert plan.getpixel((int(frame.to_pixels(*at)[0]), int(frame.to_pixels(*at)[1]))) == WHITE
