"""Floor plans: size, frame, and that what should be seen is drawn where it is."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageChops

from planner.houses.drawing import PlanLayers, draw_explored, draw_floor_plan
from planner.houses.label_layout import MapFrame
from planner.world.episode import Episode
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap
from planner.world.house import House

BARE = PlanLayers(furniture=False, furniture_names=False, objects=False)


def colours(picture: Image.Image, box: tuple[float, float, float, float]) -> int:
    part = picture.crop(tuple(round(v) for v in box))  # type: ignore[arg-type]
    return len(part.getcolors(maxcolors=1 << 20) or [])


@pytest.mark.parametrize("scale", [20.0, 50.0])
def test_size_follows_the_frame(small_house: House, scale: float) -> None:
    frame = MapFrame.of(small_house, scale)
    picture = draw_floor_plan(small_house, pixels_per_m=scale)
    assert picture.size == (frame.width_px, frame.height_px)
    assert picture.mode == "RGB"
    assert frame.height_px > 4 * scale


def test_frame_maps_there_and_back(small_house: House) -> None:
    frame = MapFrame.of(small_house, 37.0)
    column, row = frame.to_pixels(1.25, 3.5)
    assert frame.to_map(column, row) == pytest.approx((1.25, 3.5))
    right, up = frame.to_pixels(2.25, 4.5)
    assert right > column
    assert up < row


def test_furniture_is_drawn_where_it_stands(small_house: House) -> None:
    frame = MapFrame.of(small_house, 60.0)
    full, bare = (
        draw_floor_plan(small_house, pixels_per_m=60.0, layers=layers)
        for layers in (PlanLayers(furniture_names=False), BARE)
    )
    for piece in small_house.furniture:
        low, high = piece.box.minimum_m, piece.box.maximum_m
        left, bottom = frame.to_pixels(low[0], low[1])
        right, top = frame.to_pixels(high[0], high[1])
        assert colours(full, (left, top, right, bottom)) > 3
    changed = ImageChops.difference(full, bare).getbbox()
    assert changed is not None


def test_walls_are_dark_and_doors_are_open(small_house: House) -> None:
    frame = MapFrame.of(small_house, 60.0)
    picture = draw_floor_plan(small_house, pixels_per_m=60.0, layers=BARE)

    def brightness(x: float, y: float) -> float:
        column, row = frame.to_pixels(x, y)
        pixel = picture.getpixel((int(column), int(row)))
        assert isinstance(pixel, tuple)
        return sum(pixel) / 3

    assert brightness(4.0, 0.5) < 90
    assert brightness(4.0, 2.0) > 180


def test_layers_and_names_change_the_picture(small_house: House) -> None:
    pictures = [
        draw_floor_plan(small_house, layers=layers)
        for layers in (PlanLayers(), PlanLayers(object_names=True), PlanLayers(objects=False))
    ]
    assert len({picture.tobytes() for picture in pictures}) == 3


def test_an_episode_shows_its_agents(small_house: House, small_episode: Episode) -> None:
    with_agents = draw_floor_plan(small_house, episode=small_episode)
    without = draw_floor_plan(small_house)
    assert ImageChops.difference(with_agents, without).getbbox() is not None


def test_the_same_house_gives_the_same_picture(small_house: House) -> None:
    one, two = (draw_floor_plan(small_house).tobytes() for _ in range(2))
    assert one == two


def test_unexplored_floor_is_shaded_and_the_way_is_drawn(small_house: House) -> None:
    frame = MapFrame.of(small_house, 40.0)
    plan = Image.new("RGB", (frame.width_px, frame.height_px), (255, 255, 255))
    x0, y0, _, y1 = small_house.bounds_m
    cells = np.full((20, 20), UNKNOWN, np.int8)
    cells[:10], cells[10:12] = FREE, OCCUPIED
    floor = FloorMap(cells, (x0, y0), (y1 - y0) / 20)
    path = [(x0 + 0.2, y0 + 0.5, 0.0), (x0 + 1.2, y0 + 0.5, 0.0)]
    drawn = draw_explored(plan, frame, floor, path)

    def colour(x_m: float, y_m: float) -> tuple[int, ...]:
        column, row = frame.to_pixels(x_m, y_m)
        pixel = drawn.getpixel((int(column), int(row)))
        assert isinstance(pixel, tuple)
        return pixel

    height = y1 - y0
    assert colour(x0 + 0.2, y0 + 0.4 * height) == (255, 255, 255)
    red, green, _ = colour(x0 + 0.2, y0 + 0.55 * height)
    assert red > green
    assert max(colour(x0 + 0.2, y0 + 0.9 * height)) < 200
    assert colour(x0 + 0.7, y0 + 0.5) == (30, 90, 200)
    # The title is no part of the map.
    assert drawn.getpixel((2, 2)) == (255, 255, 255)
