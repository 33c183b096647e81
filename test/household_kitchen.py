"""A kitchen with what household tasks take, and a living room beside it, by hand."""

from __future__ import annotations

import math

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.furnishing import build_furniture
from planner.world.house import Door, Furniture, House, ObjectPlacement, Room

CATALOGUE = default_catalogue()
TABLE_THINGS = {
    "knife_0": (-0.2, -0.8),
    "bread_0": (0.15, -0.75),
    "tomato_0": (-0.2, -0.5),
    "potato_0": (0.1, -0.5),
    "lettuce_0": (0.3, -0.5),
    "plate_0": (-0.2, -0.2),
    "plate_1": (0.2, -0.2),
    "bowl_0": (0.0, 0.05),
    "cup_0": (-0.3, 0.2),
    "fork_0": (0.1, 0.3),
    "fork_1": (0.1, 0.4),
    "pot_0": (-0.1, 0.6),
    "plant_container_0": (0.3, 0.7),
    "napkin_0": (-0.35, 0.8),
    "statue_0": (0.05, 0.85),
    "bread_slice_90": (0.35, -0.1),
}
COUNTER_THINGS = {
    "toaster_0": (0.0, -0.5),
    "coffee_machine_0": (0.0, 0.3),
    "basket_0": (0.0, 0.9),
    "pan_0": (0.0, -0.92),
}
SHELF_THINGS = {"apple_0": (0.0, -0.2), "egg_0": (0.0, 0.0)}
COUCH_THINGS = {"pillow_0": (0.0, -0.6), "pillow_1": (0.0, 0.0), "pillow_2": (0.0, 0.6)}
DESK_THINGS = {
    "pencil_0": (0.0, -0.4),
    "pencil_1": (0.0, -0.2),
    "pen_0": (0.0, 0.1),
    "pen_1": (0.0, 0.3),
}
DIRTY = ("plate_0", "plate_1")


def _piece(
    class_name: str, x: float, y: float, yaw: float, *, large: bool = False, room: str = "kitchen_0"
) -> Furniture:
    cls = CATALOGUE.furniture[class_name]
    size = cls.size_max_m if large else cls.size_min_m
    return build_furniture(cls, f"{class_name}_0", room, x, y, yaw, size)


def _on_top(name: str, piece: Furniture, dx: float, dy: float) -> ObjectPlacement:
    class_name = name.rpartition("_")[0]
    cls = CATALOGUE.objects[class_name]
    surface = max(piece.surfaces, key=lambda s: s.center[2])
    x, y, z = piece.pose.apply((surface.center[0] + dx, surface.center[1] + dy, surface.center[2]))
    return ObjectPlacement(
        name=name,
        class_name=class_name,
        size_m=cls.size_m,
        pose=(x, y, z, piece.yaw_rad),
        parent=piece.name,
        relation="on",
        part=surface.name,
        states={"clean": False} if name in DIRTY else {},
    )


def kitchen_house() -> House:
    """A room with what cooking takes, and one with a couch and a desk."""
    table = _piece("table", 3.0, 2.5, 0.0, large=True)
    counter = _piece("counter", 0.45, 2.5, 0.0, large=True)
    shelves = _piece("shelves", 5.75, 2.5, math.pi)
    couch = _piece("couch", 9.5, 2.5, math.pi, large=True, room="living_room_0")
    desk = _piece("desk", 8.0, 4.5, -math.pi / 2, room="living_room_0")
    furniture = (
        table,
        counter,
        _piece("oven", 2.0, 4.5, -math.pi / 2),
        _piece("sink", 4.0, 0.4, math.pi / 2),
        shelves,
        _piece("fridge", 3.5, 4.5, -math.pi / 2),
        _piece("microwave", 4.8, 4.6, -math.pi / 2),
        couch,
        desk,
    )
    layout = (
        (table, TABLE_THINGS),
        (counter, COUNTER_THINGS),
        (shelves, SHELF_THINGS),
        (couch, COUCH_THINGS),
        (desk, DESK_THINGS),
    )
    things = [_on_top(n, piece, *at) for piece, placed in layout for n, at in placed.items()]
    rooms = (_room("kitchen_0", "kitchen", 0, 6), _room("living_room_0", "living_room", 6, 10))
    door = Door(
        name="door_0",
        rooms=("kitchen_0", "living_room_0"),
        center_m=(6.0, 0.9),
        yaw_rad=math.pi / 2,
        width_m=0.9,
    )
    return House(
        version=1,
        name="kitchen",
        rooms=rooms,
        doors=(door,),
        furniture=furniture,
        objects=tuple(things),
    )


def _room(name: str, class_name: str, west: float, east: float) -> Room:
    return Room(
        name=name, class_name=class_name, polygon_m=((west, 0), (east, 0), (east, 5), (west, 5))
    )


def kitchen_episode(house: House) -> Episode:
    """A person alone with the kitchen's things."""
    return Episode(
        version=1,
        episode_id="kitchen",
        house=house.name,
        instruction="Do as you are told.",
        agents=({"uid": "agent_0", "kind": "human", "start": (1.6, 1.0, 0.0)},),
        objects=house.objects,
    )
