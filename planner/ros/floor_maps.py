"""Floor maps as nav_msgs/OccupancyGrid, both ways."""

from __future__ import annotations

import array

import numpy as np
from nav_msgs.msg import OccupancyGrid

from planner.ros.conversions import header, pose_message
from planner.world.errors import PlannerError
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap
from planner.world.geometry import Pose
from planner.world.memory_wire import stamp_seconds

FRAME = "map"
# Larger ones are refused: 400 m at 0.05 m.
MAX_CELLS = 64_000_000


def map_message(floor: FloorMap, load_s: float = 0.0) -> OccupancyGrid:
    """A floor map in `map`; `load_s` is when it was begun, on the world's clock."""
    message = OccupancyGrid(header=header(floor.stamp_s, FRAME))
    message.info.map_load_time = header(load_s, FRAME).stamp
    message.info.resolution = floor.cell_m
    message.info.height, message.info.width = floor.cells.shape
    message.info.origin = pose_message(Pose.planar(*floor.origin_m))
    message.data = array.array("b", np.ascontiguousarray(floor.cells).tobytes())
    return message


def map_record(message: OccupancyGrid) -> FloorMap:
    """The floor map of a message.

    Values between free and occupied, which other software may send, count as occupied from 50 on.

    Raises:
        PlannerError: naming the field, if sizes do not fit, or the map is turned or not in `map`.
    """
    info = message.info
    rows, columns = int(info.height), int(info.width)
    if rows * columns != len(message.data) or not 0 < rows * columns <= MAX_CELLS:
        raise PlannerError(f"data: {len(message.data)} cells, info says {columns} x {rows}")
    if message.header.frame_id.lstrip("/") != FRAME:
        raise PlannerError(f"header.frame_id: expected {FRAME}, got {message.header.frame_id!r}")
    turned = info.origin.orientation
    if abs(turned.x) > 1e-6 or abs(turned.y) > 1e-6 or abs(turned.z) > 1e-6:
        raise PlannerError("info.origin.orientation: turned maps are not read")
    values = np.frombuffer(message.data, np.int8).reshape(rows, columns)
    cells = np.full((rows, columns), UNKNOWN, np.int8)
    cells[(values >= FREE) & (values < OCCUPIED // 2)] = FREE
    cells[values >= OCCUPIED // 2] = OCCUPIED
    origin = info.origin.position
    stamp_s = stamp_seconds(message.header.stamp)
    # A message's resolution has the precision of a float.
    return FloorMap(cells, (origin.x, origin.y), round(float(info.resolution), 6), stamp_s)
