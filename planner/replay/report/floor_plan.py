"""A house from above as polygons for drawing."""

from __future__ import annotations

from collections.abc import Sequence

from planner.houses.label_layout import Label, LabelLayout, door_leaf
from planner.replay.report.document import (
    FloorPlan,
    PlanDoor,
    PlanLabel,
    PlanPart,
    PlanPiece,
    PlanRoom,
    Point,
)
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.house import Door, Furniture, House, Room
from planner.world.object_checks import furniture_corners
from planner.world.shapes import outline_from_above

# A house this much higher than wide is rotated.
_HIGH = 1.2
_PLAIN_FLOOR = "#e9e6df"


def floor_plan_of(house: House) -> FloorPlan:
    """The plan of a house, without objects."""
    catalogue = default_catalogue()
    x0, y0, x1, y1 = house.bounds_m
    turned = y1 - y0 > _HIGH * (x1 - x0)
    layout = LabelLayout(turned=turned)
    rooms = [_room(room, house.furniture, catalogue, layout) for room in house.rooms]
    # The largest first: what finds no place has none.
    by_size = sorted(house.furniture, key=lambda piece: -piece.size_m[0] * piece.size_m[1])
    labels = {piece.name: layout.piece(piece) for piece in by_size}
    return FloorPlan(
        house=house.name,
        turned=turned,
        bounds_m=(round(x0, 3), round(y0, 3), round(x1, 3), round(y1, 3)),
        rooms=tuple(rooms),
        doors=tuple(_door(house, door) for door in house.doors),
        pieces=tuple(_piece(piece, labels[piece.name]) for piece in house.furniture),
    )


def _room(
    room: Room, furniture: Sequence[Furniture], catalogue: Catalogue, layout: LabelLayout
) -> PlanRoom:
    known = catalogue.rooms.get(room.class_name)
    label = layout.room(room, room.name, [p for p in furniture if p.room == room.name], None)
    return PlanRoom(
        name=room.name,
        class_name=room.class_name,
        polygon_m=_points(room.polygon_m),
        label_m=_points([label.at_m])[0],
        label_size_m=round(label.size_m, 3),
        rgb=_hex(known.floor_rgb) if known else _PLAIN_FLOOR,
    )


def _door(house: House, door: Door) -> PlanDoor:
    corners = door_corners(door, WALL_THICKNESS_M * 1.3)
    return PlanDoor(
        name=door.name,
        polygon_m=_points([(float(x), float(y)) for x, y in corners]),
        leaf_m=_points(door_leaf(house, door)),
        entrance=len(door.rooms) == 1,
    )


def _piece(piece: Furniture, label: Label | None) -> PlanPiece:
    parts = sorted(piece.drawn_parts, key=lambda part: part.center[2] + part.size[2] / 2)
    outline = furniture_corners([piece])[0]
    return PlanPiece(
        name=piece.name,
        class_name=piece.class_name,
        center_m=(round(piece.x_m, 3), round(piece.y_m, 3)),
        label=_label(label) if label else None,
        outline_m=_points([(float(x), float(y)) for x, y in outline]),
        parts=tuple(
            PlanPart(_points(outline_from_above(p, piece.pose)), _hex(p.rgb)) for p in parts
        ),
    )


def _label(label: Label) -> PlanLabel:
    lines = tuple(label.text.split("\n"))
    return PlanLabel(lines, _points([label.at_m])[0], round(label.size_m, 3))


def _points(points: Sequence[Point]) -> tuple[Point, ...]:
    return tuple((round(x, 3), round(y, 3)) for x, y in points)


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * level):02x}" for level in rgb)
