"""The usual sign of a door on a plan: its leaf, and the quarter circle that it sweeps."""

from __future__ import annotations

import math

from shapely.geometry import Point as ShapelyPoint

from planner.world.house import Door, House

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
