"""What EPM's model is shown: a picture, and a prompt of five blocks (EPM-2.2).

World coordinates are those of `map` (z up). The wording of the task is ours; markers, entity
lines and number formats are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from planner.memory.camera import unproject
from planner.memory.operations import GRID_CELLS, MODEL_IMAGE_PX
from planner.memory.wording import coordinates, entity_line
from planner.world.entity import Entity
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, RgbImage

TASK = (
    "You keep the memory of a household robot. From its memory so far and what its camera shows "
    "now, say how the memory is to be changed."
)
PREVIOUS_ACTION = "Your previous action is:"
PREVIOUS_MEMORY = "Your previous memory is:"
NEXT_UPDATE = "Your next update is:"
# A cell without any depth nearby stands in the list all the same, so that places keep meaning.
NO_POINT = "(none)"
# How far from a cell's middle its depth may be taken, in pixels of the picture.
_WINDOW_PX = 12


def cell_pixels(width_px: int, height_px: int) -> list[tuple[float, float]]:
    """(u, v) of the middles of the 8x8 cells, row by row from the top, left to right."""
    return [
        ((column + 0.5) * width_px / GRID_CELLS, (row + 0.5) * height_px / GRID_CELLS)
        for row in range(GRID_CELLS)
        for column in range(GRID_CELLS)
    ]


def view_points(frame: CameraFrame) -> list[Vec3 | None]:
    """The 64 points of `map` that the cells' middles show; None where nothing was measured.

    A middle without depth takes the nearest depth of a small window.
    """
    height, width = frame.depth_m.shape
    points: list[Vec3 | None] = []
    for u, v in cell_pixels(width, height):
        depth_m = _depth_near(frame, u, v)
        intrinsics, pose = frame.intrinsics, frame.pose
        points.append(None if depth_m is None else unproject(intrinsics, pose, (u, v), depth_m))
    return points


def _depth_near(frame: CameraFrame, u: float, v: float) -> float | None:
    row, column = int(v), int(u)
    here = float(frame.depth_m[row, column])
    if math.isfinite(here) and here > 0:
        return here
    top, left = max(0, row - _WINDOW_PX), max(0, column - _WINDOW_PX)
    window = frame.depth_m[top : row + _WINDOW_PX + 1, left : column + _WINDOW_PX + 1]
    rows, columns = np.nonzero(np.isfinite(window) & (window > 0))
    if not rows.size:
        return None
    nearest = int(np.argmin(np.hypot(rows + top - row, columns + left - column)))
    return float(window[rows[nearest], columns[nearest]])


def model_image(frame: CameraFrame) -> RgbImage:
    """The picture as the model gets it: (384, 384, 3) uint8, red first."""
    if frame.rgb.shape == (MODEL_IMAGE_PX, MODEL_IMAGE_PX, 3):
        return frame.rgb
    size = (MODEL_IMAGE_PX, MODEL_IMAGE_PX)
    return np.asarray(cv2.resize(frame.rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def update_prompt(
    points: Sequence[Vec3 | None], entities: Sequence[Entity], last_action: str
) -> str:
    """The text beside the picture; ends where the model's answer begins.

    Args:
        points: of `view_points`.
        entities: the entity list; printed by number.
        last_action: as `Pick[Object.149]`; "" before the first.
    """
    lines = [entity_line(e) for e in sorted(entities, key=lambda e: e.entity_id)]
    view = ", ".join(NO_POINT if point is None else coordinates(point) for point in points)
    action = f"{PREVIOUS_ACTION} {last_action}".rstrip()
    return "\n".join([TASK, view, action, PREVIOUS_MEMORY, *lines, NEXT_UPDATE])
