"""A valid house of one room with many chairs, a cup beside each of them."""

from __future__ import annotations

import math
from typing import Any


def crowded_house(pieces: int) -> dict[str, Any]:
    """The document of a house file; as many things as pieces."""
    row = math.isqrt(pieces) + 1
    side_m = row * 1.2 + 3.0
    chair = {"size": [0.4, 0.4, 0.5], "center": [0.0, 0.0, 0.25], "rgb": [0.5, 0.5, 0.5]}
    places = [(1.5 + i % row * 1.2, 1.5 + i // row * 1.2) for i in range(pieces)]
    return {
        "version": 1,
        "name": "crowded",
        "rooms": [
            {
                "name": "kitchen_0",
                "class_name": "kitchen",
                "polygon_m": [[0, 0], [side_m, 0], [side_m, side_m], [0, side_m]],
            }
        ],
        "furniture": [
            {
                "name": f"chair_{i}",
                "class_name": "chair",
                "room": "kitchen_0",
                "x_m": x_m,
                "y_m": y_m,
                "yaw_rad": 0.0,
                "size_m": [0.4, 0.4, 0.5],
                "parts": [chair],
            }
            for i, (x_m, y_m) in enumerate(places)
        ],
        "objects": [
            {
                "name": f"cup_{i}",
                "class_name": "cup",
                "size_m": [0.08, 0.08, 0.1],
                "pose": [x_m + 0.5, y_m + 0.5, 0.0, 0.0],
                "parent": "floor_kitchen_0",
                "relation": "on",
            }
            for i, (x_m, y_m) in enumerate(places)
        ],
    }
