"""What floor plans are drawn with: pixels of the map, doors, and names that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import ImageFont
from shapely import contains_xy
from shapely.geometry import Point as ShapelyPoint

from planner.world.geometry import FloatArray
from planner.world.house import Door, Furniture, House, Room

# Converts metres of the map to pixels of a floor plan, and back.

_MARGIN_M = 0.6
_TITLE_PX = 46
_FOOT_PX = 44


@dataclass(frozen=True, slots=True)
class MapFrame:
    """The image's frame: x to the right, map y upwards, pixel rows downwards.

    Attributes:
        left_m: the map's x at the image's left edge.
        top_m: the map's y at the lower edge of the title.
        pixels_per_m: scale.
        width_px: width of the image.
        height_px: height of the image, including title and footer.
        top_px: height of the title.
    """

    left_m: float
    top_m: float
    pixels_per_m: float
    width_px: int
    height_px: int
    top_px: int = _TITLE_PX

    @staticmethod
    def of(house: House, pixels_per_m: float) -> MapFrame:
        """The frame around all rooms of a house with a margin, a title and a footer."""
        x0, y0, x1, y1 = house.bounds_m
        width = math.ceil((x1 - x0 + 2 * _MARGIN_M) * pixels_per_m)
        height = math.ceil((y1 - y0 + 2 * _MARGIN_M) * pixels_per_m) + _TITLE_PX + _FOOT_PX
        return MapFrame(x0 - _MARGIN_M, y1 + _MARGIN_M, pixels_per_m, max(width, 420), height)

    def to_pixels(self, x_m: float, y_m: float) -> tuple[float, float]:
        """(column, row) of a point of the map."""
        column = (x_m - self.left_m) * self.pixels_per_m
        return column, (self.top_m - y_m) * self.pixels_per_m + self.top_px

    def to_map(self, column_px: float, row_px: float) -> tuple[float, float]:
        """(x, y) in metres of a pixel."""
        x = column_px / self.pixels_per_m + self.left_m
        return x, self.top_m - (row_px - self.top_px) / self.pixels_per_m


# The usual sign of a door on a plan: its leaf, and the quarter circle that it sweeps.

Point = tuple[float, float]
# Wider openings have no door leaf.
_WIDEST_M = 1.05
# Doors do not open into it, since people walk there.
_HALLWAY = "hallway"
_STEPS = 12


def door_leaf(house: House, door: Door) -> list[Point]:
    """The hinge, then the arc of a leaf that opens into the smaller room, metres.

    The leaf is hinged at the end of the opening that is nearer to a corner of that room. Empty for
    an opening without a leaf.
    """
    if door.width_m >= _WIDEST_M:
        return []
    rooms = [house.rooms_by_name[name] for name in door.rooms]
    room = min(rooms, key=lambda r: (r.class_name == _HALLWAY, r.shape.area))
    x, y = door.center_m
    along = (math.cos(door.yaw_rad), math.sin(door.yaw_rad))
    across = (-along[1], along[0])
    if not room.shape.contains(ShapelyPoint(x + 0.1 * across[0], y + 0.1 * across[1])):
        across = (along[1], -along[0])
    half, reach = door.width_m / 2, door.width_m
    to_corner = [
        min(
            math.dist((x + side * half * along[0], y + side * half * along[1]), corner)
            for corner in room.polygon_m
        )
        for side in (-1, 1)
    ]
    if to_corner[1] < to_corner[0]:
        along = (-along[0], -along[1])
    hinge = (x - half * along[0], y - half * along[1])
    arc = [hinge]
    for step in range(_STEPS + 1):
        turn = step * math.pi / 2 / _STEPS
        c, s = math.cos(turn) * reach, math.sin(turn) * reach
        arc.append(
            (hinge[0] + c * along[0] + s * across[0], hinge[1] + c * along[1] + s * across[1])
        )
    return arc


Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
Rectangle = tuple[float, float, float, float]
"""Smallest x and y, largest x and y."""

ROOM_SIZE_M = 0.24
THING_SIZE_M = 0.15
# A name that finds no place is tried again in the smaller size.
PIECE_SIZES_M = (0.115, 0.085)
_MEASURED_PX = 100
_LINE = 1.15
_GAP_M = 0.02
_BOLDER = 1.2
_STEP_M = 0.15
# What a metre of a way under a room's name costs, in square metres of hidden furniture.
_WAY_COST = 0.25
_FAR_COST = 0.02
_TAKEN_COST = 10.0


@dataclass(frozen=True, slots=True)
class Label:
    """A text of one or more lines, centred on a point; `size_m` is the height of its letters."""

    text: str
    at_m: Point
    size_m: float


@lru_cache(maxsize=16)
def font(size_px: int) -> Font:
    """Pillow's own font, so that images look the same on every machine."""
    return ImageFont.load_default(size_px)


def extent_m(text: str, size_m: float) -> Point:
    """Width and height of a text, metres."""
    face = font(_MEASURED_PX)
    lines = text.split("\n")
    width = max(face.getlength(line) for line in lines) * size_m / _MEASURED_PX
    return width, len(lines) * _LINE * size_m


class LabelLayout:
    """Gives each label a place that no earlier one has.

    Attributes:
        labels: those that have a place.
    """

    def __init__(self, *, turned: bool = False, smallest_m: float = 0.0) -> None:
        """An empty plan.

        Args:
            turned: whether it is drawn rotated by 90 degrees, with the letters upright.
            smallest_m: height of letters that can just be read; rooms and things have no smaller.
        """
        self._turned, self._smallest_m = turned, smallest_m
        self._taken: list[Rectangle] = []
        self.labels: list[Label] = []

    def keep_free(self, at_m: Point, radius_m: float) -> None:
        """No label is put over this point."""
        x, y = at_m
        self._taken.append((x - radius_m, y - radius_m, x + radius_m, y + radius_m))

    def room(
        self, room: Room, text: str, furniture: Sequence[Furniture], ways_m: FloatArray | None
    ) -> Label:
        """Puts a room's name where it hides the least, preferably in the middle of the room.

        Args:
            room: the room.
            text: its name.
            furniture: that may be hidden.
            ways_m: (n, 2) points of ways, 0.1 m apart; None = no ways.
        """
        x0, y0, x1, y1 = room.shape.bounds
        wide = (y1 - y0) if self._turned else (x1 - x0)
        size = max(min(ROOM_SIZE_M, 0.11 * wide), self._smallest_m)
        half_x, half_y = self._half(text, size)
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        columns = np.arange(x0 + half_x, x1 - half_x + 1e-9, _STEP_M)
        rows = np.arange(y0 + half_y, y1 - half_y + 1e-9, _STEP_M)
        spots = np.stack(np.meshgrid(columns, rows), -1).reshape(-1, 2)
        spots = spots[contains_xy(room.shape, spots[:, 0], spots[:, 1])]
        if not len(spots):
            spots = np.array([middle])
        cost = _FAR_COST * np.hypot(spots[:, 0] - middle[0], spots[:, 1] - middle[1])
        for piece in furniture:
            (ax, ay), (bx, by) = piece.box.minimum_m[:2], piece.box.maximum_m[:2]
            cost += _overlap(spots, (half_x, half_y), (ax, ay, bx, by))
            # Where there is room, for letters of a page that are bolder.
            cost += _overlap(spots, (half_x * _BOLDER, half_y * _BOLDER), (ax, ay, bx, by))
        for other in self._taken:
            cost += _TAKEN_COST * _overlap(spots, (half_x, half_y), other)
        if ways_m is not None and len(ways_m):
            near = np.abs(ways_m[None] - spots[:, None]) <= (half_x, half_y)
            cost += _WAY_COST * 0.1 * near.all(axis=2).sum(axis=1)
        x, y = spots[int(np.argmin(cost))]
        return self._put(Label(text, (float(x), float(y)), size))

    def piece(self, piece: Furniture) -> Label | None:
        """Puts the name of a piece on it, or beside it; None where there is no space."""
        x0, y0 = piece.box.minimum_m[:2]
        x1, y1 = piece.box.maximum_m[:2]
        wide = (y1 - y0) if self._turned else (x1 - x0)
        high = (x1 - x0) if self._turned else (y1 - y0)
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        for size in PIECE_SIZES_M:
            texts = _broken(piece.name)
            fitting = [
                text
                for text in texts
                if extent_m(text, size)[0] <= wide and extent_m(text, size)[1] <= high
            ]
            # The fewest lines that fit onto it; else it sticks out as little as possible.
            best = fitting or sorted(texts, key=lambda text: max(extent_m(text, size)))[:1]
            inside = [
                (middle[0] + dx * (x1 - x0), middle[1] + dy * (y1 - y0))
                for dx, dy in ((0, 0), (0, 0.25), (0, -0.25), (0.25, 0), (-0.25, 0))
            ]
            label = self._first(best[0], inside, size)
            if label is not None:
                return label
        size = PIECE_SIZES_M[-1]
        return self._first(best[0], list(_around(middle, 0.15, 0.6)), size)

    def thing(self, text: str, at_m: Point) -> Label:
        """Puts the name of a thing beside a point; it is never left out."""
        size = max(THING_SIZE_M, self._smallest_m)
        width, height = extent_m(text, size)
        spots = [(at_m[0] + width / 2 + 0.12, at_m[1]), (at_m[0] - width / 2 - 0.12, at_m[1])]
        for radius in np.arange(0.2, 4.0, 0.1):
            spots += [
                (
                    at_m[0] + (radius + width / 2) * math.cos(turn),
                    at_m[1] + (radius + height / 2) * math.sin(turn),
                )
                for turn in np.arange(0, 2 * math.pi, math.pi / 8)
            ]
        found = self._first(text, spots, size)
        return found or self._put(Label(text, spots[0], size))

    def near(self, text: str, at_m: Point, size_m: float) -> Label | None:
        """Puts a small name just beside a point; None where there is no space."""
        x, y = at_m
        aside = extent_m(text, size_m)[0] / 2 + 0.08
        spots = [(x, y + 0.1), (x, y - 0.1), (x + aside, y), (x - aside, y), (x, y + 0.2)]
        return self._first(text, [*spots, (x, y - 0.2)], size_m)

    def fixed(self, text: str, at_m: Point, size_m: float) -> Label:
        """Puts a label at a place that is given; later ones go out of its way."""
        return self._put(Label(text, at_m, size_m))

    def _first(self, text: str, spots: Iterable[Point], size_m: float) -> Label | None:
        for x, y in spots:
            label = Label(text, (float(x), float(y)), size_m)
            box = self._box(label)
            if not any(_meet(box, other) for other in self._taken):
                return self._put(label)
        return None

    def _put(self, label: Label) -> Label:
        self._taken.append(self._box(label))
        self.labels.append(label)
        return label

    def _half(self, text: str, size_m: float) -> Point:
        width, height = extent_m(text, size_m)
        half = (width / 2 + _GAP_M, height / 2 + _GAP_M)
        return (half[1], half[0]) if self._turned else half

    def _box(self, label: Label) -> Rectangle:
        (x, y), (half_x, half_y) = label.at_m, self._half(label.text, label.size_m)
        return x - half_x, y - half_y, x + half_x, y + half_y


def _around(middle: Point, step_m: float, reach_m: float) -> Iterable[Point]:
    radius = step_m
    while radius <= reach_m:
        for dx, dy in ((0, -1), (0, 1), (1, 0), (-1, 0)):
            yield middle[0] + radius * dx, middle[1] + radius * dy
        radius += step_m


def _broken(name: str) -> list[str]:
    """A name in one line, in two, and a word a line."""
    words = name.split("_")
    ways = [name]
    if len(words) > 2:
        half = len(words) // 2
        ways.append("_".join(words[:half]) + "\n" + "_".join(words[half:]))
    if len(words) > 1:
        ways.append("\n".join(words))
    return ways


def _overlap(spots: FloatArray, half: Point, box: Rectangle) -> FloatArray:
    """(n,) area that a rectangle around each spot has in common with a box."""
    x = np.minimum(spots[:, 0] + half[0], box[2]) - np.maximum(spots[:, 0] - half[0], box[0])
    y = np.minimum(spots[:, 1] + half[1], box[3]) - np.maximum(spots[:, 1] - half[1], box[1])
    area: FloatArray = np.maximum(x, 0.0) * np.maximum(y, 0.0)
    return area


def _meet(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
