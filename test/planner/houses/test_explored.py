import numpy as np
from PIL import Image

from planner.houses.explored import draw_explored
from planner.houses.map_frame import MapFrame
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap
from planner.world.house import House


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
