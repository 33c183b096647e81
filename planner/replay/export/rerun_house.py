"""The house in Rerun: rooms as outlines, walls and furniture as boxes. It never changes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from shapely import union_all
from shapely.geometry import LineString

from planner.replay.export import rerun_paths
from planner.replay.export.rerun_stream import Recording
from planner.world.geometry import Pose, Quaternion, Vec3
from planner.world.house import Door, House

_WALL_M, _SHOWN_M, _SHORTEST_M = 0.06, 0.6, 1e-3
# A door cuts the walls of both rooms, which may be this far apart.
_OPENING_M = 0.3
_WALL_RGB, _ROOM_RGB = (170, 170, 178), (225, 225, 235)


@dataclass(frozen=True, slots=True)
class WallPiece:
    """A straight, upright box of wall: centre, half size, rotation about z."""

    center_m: Vec3
    half_size_m: Vec3
    yaw_rad: float


def draw_house(recording: Recording, house: House) -> None:
    """Logs the whole house."""
    import rerun as rr

    for room in house.rooms:
        corners = [(x, y, 0.01) for x, y in (*room.polygon_m, room.polygon_m[0])]
        outline = rr.LineStrips3D([corners], labels=[room.name], colors=[_ROOM_RGB], radii=0.02)
        recording.log_in_map(rerun_paths.room(room.name), outline, static=True)
    walls = list(wall_pieces(house))
    if walls:
        boxes = rr.Boxes3D(
            centers=[wall.center_m for wall in walls],
            half_sizes=[wall.half_size_m for wall in walls],
            quaternions=[_turn(wall.yaw_rad) for wall in walls],
            colors=_WALL_RGB,
            fill_mode="solid",
        )
        recording.log_in_map(rerun_paths.WALLS, boxes, static=True)
    for piece in house.furniture:
        places = [piece.pose.compose(Pose(part.center)) for part in piece.parts]
        boxes = rr.Boxes3D(
            centers=[place.position_m for place in places],
            half_sizes=[tuple(extent / 2 for extent in part.size) for part in piece.parts],
            quaternions=[place.orientation for place in places],
            colors=[part.rgb for part in piece.drawn_parts],
            fill_mode="solid",
        )
        recording.log_in_map(rerun_paths.furniture(piece.name), boxes, static=True)


def wall_pieces(house: House) -> Iterator[WallPiece]:
    """The walls of all rooms without the door openings, low enough to see into the rooms."""
    walls = union_all([room.shape.exterior for room in house.rooms])
    for door in house.doors:
        walls = walls.difference(_line(door).buffer(_OPENING_M, cap_style="flat"))
    for line in getattr(walls, "geoms", [walls]):
        for (x, y), (u, v) in itertools.pairwise(line.coords):
            length_m = math.hypot(u - x, v - y)
            if length_m > _SHORTEST_M:
                middle = ((x + u) / 2, (y + v) / 2, _SHOWN_M / 2)
                half = (length_m / 2, _WALL_M / 2, _SHOWN_M / 2)
                yield WallPiece(middle, half, math.atan2(v - y, u - x))


def _line(door: Door) -> LineString:
    (x, y), half = door.center_m, door.width_m / 2
    dx, dy = half * math.cos(door.yaw_rad), half * math.sin(door.yaw_rad)
    return LineString([(x - dx, y - dy), (x + dx, y + dy)])


def _turn(yaw_rad: float) -> Quaternion:
    return Pose.planar(0.0, 0.0, yaw_rad).orientation
