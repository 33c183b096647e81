"""Markers and a recorded map on a floor plan."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from planner.houses.drawing import draw_floor_plan
from planner.houses.label_layout import MapFrame
from planner.houses.marks import (
    AGENT_STYLES,
    MOVE_STYLE,
    Marks,
    PlanMarker,
    RecordedMap,
    agent_style,
    dashes,
    draw_surveyed,
)
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


WALL_RGB = (52, 52, 56)


def length(stroke: list[tuple[float, float]]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(stroke))


def test_a_dashed_line_has_strokes_and_gaps_around_corners() -> None:
    line = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]
    strokes = list(dashes(line, (0.6, 0.2)))
    assert [length(stroke) for stroke in strokes] == pytest.approx([0.6, 0.6, 0.4])
    assert strokes[1][0] == pytest.approx((0.8, 0.0))
    assert (1.0, 0.0) in strokes[1]
    assert strokes[2][-1] == (1.0, 1.0)


@pytest.mark.parametrize("points", [[], [(1.0, 1.0)]])
def test_what_is_no_line_has_no_strokes(points: list[tuple[float, float]]) -> None:
    assert list(dashes(points, (0.1, 0.1))) == []
    assert list(dashes(points, ())) == []


def test_styles_differ_by_dash_and_by_colour_from_each_other_and_from_walls() -> None:
    styles = [*AGENT_STYLES, MOVE_STYLE]
    assert len({style.dash_m for style in styles}) == len(styles)
    colours = [WALL_RGB, *(style.rgb for style in styles)]
    for index, one in enumerate(colours):
        for other in colours[index + 1 :]:
            assert math.dist(one, other) > 60
    # Strokes and gaps in turn, so that a pattern can be repeated.
    assert all(len(style.dash_m) % 2 == 0 for style in styles)
    assert agent_style(len(AGENT_STYLES)) == agent_style(0)


def test_the_report_s_page_has_the_same_styles() -> None:
    assets = resources.files("planner.replay.report.assets")
    style = (assets / "report.css").read_text("utf-8").split("@media")[0]
    colours = [tuple(bytes.fromhex(code)) for code in re.findall(r"--a\d: #([0-9a-f]{6});", style)]
    assert colours == [style.rgb for style in AGENT_STYLES]
    script = (assets / "floor_plan.js").read_text("utf-8")
    found = re.search(r"export const DASHES = (\[.*\]);", script)
    assert found is not None
    assert json.loads(found.group(1)) == [list(style.dash_m) for style in AGENT_STYLES]


def test_each_agent_s_way_is_seen_on_the_plan(small_house: House) -> None:
    y0 = small_house.bounds_m[1]
    ways = tuple(((0.5, y0 + 0.5 + 0.3 * i), (3.5, y0 + 0.5 + 0.3 * i)) for i in range(3))
    drawn = np.asarray(draw_floor_plan(small_house, marks=Marks(ways_m=ways))).astype(int)
    shown = []
    for index in range(3):
        near = np.abs(drawn - agent_style(index).rgb).sum(axis=2) < 60
        shown.append(int(near.sum()))
    # The first is solid, the others have gaps.
    assert shown[0] > shown[1] > shown[2] > 100
