"""The order in which rooms are visited, and where to stand in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from planner.houses.drawing import draw_floor_plan
from planner.houses.marks import Marks
from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.observation import RgbImage

LOOK_PAN_RAD = (0.9, -0.9, 0.0)
LOOK_TILT_RAD = 0.35


@dataclass(frozen=True, slots=True)
class Stop:
    """A room and the pose from which to look around, map frame, metres and radians."""

    room: str
    x_m: float
    y_m: float
    yaw_rad: float


def plan_route(
    house: House, grid: FloorGrid, start_m: tuple[float, float], max_rooms: int
) -> tuple[Stop, ...]:
    """Up to `max_rooms` rooms, always the nearest unvisited one by walking distance.

    Raises:
        PlannerError: if the start is not on the house's floor.
    """
    here = grid.nearest_free(*start_m, within_m=0.5)
    if here is None:
        raise PlannerError(f"{house.name}: the start {start_m} is not on free floor")
    stands = {room.name: _central_cell(house, grid, room.name, here) for room in house.rooms}
    left = {name: cell for name, cell in stands.items() if cell is not None}
    route: list[Stop] = []
    while left and len(route) < max_rooms:
        field = grid.field(here)
        name = min(left, key=lambda room: (field.at(left[room]), room))
        here = left.pop(name)
        route.append(_stop(house, grid, name, here))
    return tuple(route)


def _central_cell(house: House, grid: FloorGrid, room: str, reachable_from: int) -> int | None:
    """The reachable free cell closest to the centre of a room."""
    label = grid.components.flat[reachable_from]
    middle = house.rooms_by_name[room].shape.centroid
    cells = np.flatnonzero(grid.components == label)
    points = [(grid.point(int(cell)), int(cell)) for cell in cells]
    inside = [
        (math.dist(point, (middle.x, middle.y)), cell)
        for point, cell in points
        if house.room_at(*point) == room
    ]
    return min(inside)[1] if inside else None


def _stop(house: House, grid: FloorGrid, room: str, cell: int) -> Stop:
    """A stop that faces the side of the room with the most furniture."""
    x, y = grid.point(cell)
    pieces = [piece for piece in house.furniture if piece.room == room]
    east = sum(piece.x_m - x for piece in pieces)
    north = sum(piece.y_m - y for piece in pieces)
    yaw = math.atan2(north, east) if pieces else 0.0
    return Stop(room, x, y, yaw)


# The picture of a tour: its path on a floor plan above the camera pictures.

_INK = (30, 30, 30)
_PAPER = (255, 255, 255)
_THUMB_PX = 240
_GAP_PX = 12
_CAPTION_PX = 26
_COLUMNS = 5
_SCALE_PX_PER_M = 80.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A picture of the hand camera and its caption."""

    caption: str
    rgb: RgbImage
    x_m: float
    y_m: float


def draw_strip(
    house: House, path_m: Sequence[tuple[float, float]], moments: Sequence[Moment]
) -> Image.Image:
    """The floor plan with the path and numbered moments, their pictures in rows below."""
    plan = _plan(house, path_m, moments)
    columns = min(_COLUMNS, max(1, len(moments)))
    rows = -(-len(moments) // columns)
    width = max(plan.width, columns * (_THUMB_PX + _GAP_PX) + _GAP_PX)
    height = plan.height + rows * (_THUMB_PX + _CAPTION_PX + _GAP_PX) + _GAP_PX
    sheet = Image.new("RGB", (width, height), _PAPER)
    sheet.paste(plan, ((width - plan.width) // 2, 0))
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(16)
    for index, moment in enumerate(moments):
        x = _GAP_PX + index % columns * (_THUMB_PX + _GAP_PX)
        y = plan.height + index // columns * (_THUMB_PX + _CAPTION_PX + _GAP_PX)
        picture = Image.fromarray(moment.rgb).resize((_THUMB_PX, _THUMB_PX))
        sheet.paste(picture, (x, y))
        draw.text((x, y + _THUMB_PX + 3), f"{index + 1}. {moment.caption}", _INK, font)
    return sheet


def _plan(
    house: House, path_m: Sequence[tuple[float, float]], moments: Sequence[Moment]
) -> Image.Image:
    pins = tuple((moment.x_m, moment.y_m) for moment in moments)
    marks = Marks((tuple(path_m),), pins_m=pins)
    return draw_floor_plan(house, pixels_per_m=_SCALE_PX_PER_M, marks=marks)
