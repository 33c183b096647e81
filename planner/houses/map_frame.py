"""Converts metres of the map to pixels of a floor plan, and back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.world.house import House

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
