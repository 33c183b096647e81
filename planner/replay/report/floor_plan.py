"""A house from above as polygons for drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from shapely.geometry import Point as ShapelyPoint

from planner.replay.report.document import (
    FloorPlan,
    PlanDoor,
    PlanPart,
    PlanPiece,
    PlanRoom,
    Point,
)
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.footprints import furniture_corners
from planner.world.house import Door, Furniture, House, Room
from planner.world.shapes import outline_from_above

# Wider openings have no door leaf.
_LEAF_M = 1.05
_ARC_STEPS = 8
# A house this much higher than wide is rotated.
_HIGH = 1.2
_HALLWAY = "hallway"
_PLAIN_FLOOR = "#e9e6df"


def floor_plan_of(house: House) -> FloorPlan:
    """The plan of a house, without objects."""
    catalogue = default_catalogue()
    x0, y0, x1, y1 = house.bounds_m
    turned = y1 - y0 > _HIGH * (x1 - x0)
    return FloorPlan(
        house=house.name,
        turned=turned,
        bounds_m=(round(x0, 3), round(y0, 3), round(x1, 3), round(y1, 3)),
        rooms=tuple(_room(room, house.furniture, catalogue, turned) for room in house.rooms),
        doors=tuple(_door(house, door) for door in house.doors),
        pieces=tuple(_piece(piece) for piece in house.furniture),
    )


def _room(
    room: Room, furniture: Sequence[Furniture], catalogue: Catalogue, turned: bool
) -> PlanRoom:
    known = catalogue.rooms.get(room.class_name)
    return PlanRoom(
        name=room.name,
        class_name=room.class_name,
        polygon_m=_points(room.polygon_m),
        label_m=_label_spot(room, [p for p in furniture if p.room == room.name], turned),
        rgb=_hex(known.floor_rgb) if known else _PLAIN_FLOOR,
    )


def _label_spot(room: Room, pieces: Sequence[Furniture], turned: bool) -> Point:
    """The point near the centre where a name covers the least furniture."""
    x0, y0, x1, y1 = room.shape.bounds
    middle = ((x0 + x1) / 2, (y0 + y1) / 2)
    wide, high = 0.085 * len(room.name), 0.2
    half_x, half_y = (high, wide) if turned else (wide, high)
    half_x, half_y = min(half_x, (x1 - x0) / 2), min(half_y, (y1 - y0) / 2)
    spots = [
        (
            x0 + half_x + (x1 - x0 - 2 * half_x) * i / 12,
            y0 + half_y + (y1 - y0 - 2 * half_y) * j / 12,
        )
        for i in range(13)
        for j in range(13)
    ]
    inside = [spot for spot in spots if room.shape.contains(ShapelyPoint(*spot))]

    def cost(spot: Point) -> float:
        hidden = 0.0
        for piece in pieces:
            (ax, ay, _), (bx, by, _) = piece.box.minimum_m, piece.box.maximum_m
            dx = min(spot[0] + half_x, bx) - max(spot[0] - half_x, ax)
            dy = min(spot[1] + half_y, by) - max(spot[1] - half_y, ay)
            hidden += max(0.0, dx) * max(0.0, dy)
        return hidden + 0.02 * math.dist(spot, middle)

    x, y = min(inside or [middle], key=cost)
    return (round(x, 3), round(y, 3))


def _door(house: House, door: Door) -> PlanDoor:
    corners = door_corners(door, WALL_THICKNESS_M * 1.3)
    return PlanDoor(
        name=door.name,
        polygon_m=_points([(float(x), float(y)) for x, y in corners]),
        leaf_m=_points(_leaf(house, door)) if door.width_m < _LEAF_M else (),
        entrance=len(door.rooms) == 1,
    )


def _leaf(house: House, door: Door) -> list[Point]:
    """The hinge, then the quarter circle of a leaf that opens into the smaller room."""
    rooms = [house.rooms_by_name[name] for name in door.rooms]
    room = min(rooms, key=lambda r: (r.class_name == _HALLWAY, r.shape.area))
    x, y = door.center_m
    along = (math.cos(door.yaw_rad), math.sin(door.yaw_rad))
    across = (-along[1], along[0])
    if not room.shape.contains(ShapelyPoint(x + 0.1 * across[0], y + 0.1 * across[1])):
        across = (along[1], -along[0])
    half, reach = door.width_m / 2, door.width_m
    hinge = (x - half * along[0], y - half * along[1])
    arc = [hinge]
    for step in range(_ARC_STEPS + 1):
        turn = step * math.pi / 2 / _ARC_STEPS
        c, s = math.cos(turn) * reach, math.sin(turn) * reach
        arc.append(
            (hinge[0] + c * along[0] + s * across[0], hinge[1] + c * along[1] + s * across[1])
        )
    return arc


def _piece(piece: Furniture) -> PlanPiece:
    parts = sorted(piece.drawn_parts, key=lambda part: part.center[2] + part.size[2] / 2)
    outline = furniture_corners([piece])[0]
    return PlanPiece(
        name=piece.name,
        class_name=piece.class_name,
        center_m=(round(piece.x_m, 3), round(piece.y_m, 3)),
        outline_m=_points([(float(x), float(y)) for x, y in outline]),
        parts=tuple(
            PlanPart(_points(outline_from_above(p, piece.pose)), _hex(p.rgb)) for p in parts
        ),
    )


def _points(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple((round(x, 3), round(y, 3)) for x, y in points)


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * level):02x}" for level in rgb)
