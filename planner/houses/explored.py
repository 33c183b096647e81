"""What a robot has explored, drawn over the floor plan: the rest of the house is in shade."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from planner.houses.map_frame import MapFrame
from planner.world.floor_map import OCCUPIED, UNKNOWN, FloorMap
from planner.world.geometry import Vec3

# Red, green, blue and how much of it.
_UNEXPLORED = (96, 100, 112, 170)
_OCCUPIED = (150, 40, 20, 120)
_WAY = (30, 90, 200)


def draw_explored(
    plan: Image.Image, frame: MapFrame, floor: FloorMap, path_m: Sequence[Vec3] = ()
) -> Image.Image:
    """A floor plan with what a robot does not know shaded and what it takes for occupied marked.

    Args:
        plan: of the whole house.
        frame: of the plan.
        floor: the robot's map.
        path_m: where it went, drawn as a line.

    Returns:
        A new RGB image of the plan's size.
    """
    shade = np.zeros((plan.height, plan.width, 4), np.uint8)
    values = _values(plan, frame, floor)
    shade[values == UNKNOWN] = _UNEXPLORED
    shade[values == OCCUPIED] = _OCCUPIED
    # The title and the line at the foot are no part of the map.
    shade[: frame.top_px] = 0
    shade[plan.height - frame.top_px :] = 0
    drawn = Image.alpha_composite(plan.convert("RGBA"), Image.fromarray(shade)).convert("RGB")
    points = [frame.to_pixels(x, y) for x, y, _ in path_m]
    if len(points) > 1:
        ImageDraw.Draw(drawn).line(points, fill=_WAY, width=3, joint="curve")
    return drawn


def _values(plan: Image.Image, frame: MapFrame, floor: FloorMap) -> NDArray[np.int8]:
    """(height, width) of the map's value at each pixel."""
    x_m = [frame.to_map(column + 0.5, 0.0)[0] for column in range(plan.width)]
    y_m = [frame.to_map(0.0, row + 0.5)[1] for row in range(plan.height)]
    columns = np.floor((np.array(x_m) - floor.origin_m[0]) / floor.cell_m).astype(int)
    rows = np.floor((np.array(y_m) - floor.origin_m[1]) / floor.cell_m).astype(int)
    padded = np.pad(floor.cells, 1, constant_values=UNKNOWN)
    rows = np.clip(rows, -1, floor.cells.shape[0]) + 1
    columns = np.clip(columns, -1, floor.cells.shape[1]) + 1
    values: NDArray[np.int8] = padded[rows[:, None], columns[None, :]]
    return values
