"""What of the floor is known, small enough for the page."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.console import facts
from planner.console.table import Json

# Cells of the page's grid, at most, along the longer side.
MAX_CELLS = 160


def explored(message: Any) -> dict[str, Json]:
    """The unknown cells of a nav_msgs/OccupancyGrid as runs in rows.

    Returns:
        `runs`: (row, first column, columns) of unknown cells, with `cell` metres a side, from
        the lower left corner `x`, `y` of the map.

    Raises:
        ValueError: if the grid has another size than it says.
    """
    width, height = int(message.info.width), int(message.info.height)
    data = np.asarray(message.data, dtype=np.int8)
    if data.size != width * height or not data.size:
        raise ValueError(f"a grid of {width} x {height} has {data.size} cells")
    step = max(1, math.ceil(max(width, height) / MAX_CELLS))
    rows, columns = math.ceil(height / step), math.ceil(width / step)
    known: NDArray[np.int8] = np.zeros((rows * step, columns * step + step), dtype=np.int8)
    known[:height, :width] = data.reshape(height, width) >= 0
    blocks = known.reshape(rows, step, columns + 1, step).max(axis=(1, 3))
    # A known cell before the first and after the last one closes each run.
    blocks = np.concatenate((np.ones((rows, 1), np.int8), blocks), axis=1)
    blocks[:, -1] = 1
    runs: list[list[int]] = []
    for row in range(rows):
        edges = np.flatnonzero(np.diff(blocks[row]))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            runs.append([row, int(first), int(end - first)])
    at = message.info.origin.position
    return {
        "x": facts.number(at.x),
        "y": facts.number(at.y),
        "cell": facts.number(step * float(message.info.resolution), 4),
        "runs": runs,
        "share": round(float(blocks[:, 1:-1].mean()), 3),
    }
