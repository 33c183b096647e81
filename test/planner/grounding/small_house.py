"""A small house in which the tests bind descriptions."""

from collections.abc import Mapping

from planner.grounding.scene import Scene, Thing
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Box
from planner.world.receptacle import part_by_word
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name

ROOMS = {"kitchen_0": (0.0, 0.0), "living_room_0": (6.0, 0.0), "bedroom_0": (0.0, 6.0)}
# Name, room, and where it is from the room's middle.
FURNITURE = {
    "table_0": ("kitchen_0", (0.0, 0.0)),
    "counter_0": ("kitchen_0", (2.0, 0.0)),
    "counter_1": ("kitchen_0", (2.0, 2.0)),
    "sink_0": ("kitchen_0", (-2.0, 0.0)),
    "cabinet_0": ("kitchen_0", (-2.0, 2.0)),
    "table_1": ("living_room_0", (0.0, 0.0)),
    "couch_0": ("living_room_0", (2.0, 0.0)),
    "floor_lamp_0": ("living_room_0", (2.0, 2.0)),
    "bed_0": ("bedroom_0", (0.0, 0.0)),
    "floor_lamp_1": ("bedroom_0", (1.5, 0.0)),
}


def thing(
    name: str,
    parent: str,
    *,
    x_m: float = 0.0,
    color: str | None = None,
    states: Mapping[str, bool] | None = None,
    relation: Relation = Relation.ON,
    size_m: float = 0.1,
) -> Thing:
    """An object on or in furniture; `x_m` from its middle."""
    class_name = name.rpartition("_")[0]
    known = default_catalogue().objects[class_name]
    room = parent.removeprefix("floor_") if parent not in FURNITURE else FURNITURE[parent][0]
    x, y, _ = _middle(parent)
    return Thing(
        name=name,
        kind=EntityKind.OBJECT,
        class_name=class_name,
        box=Box.around((x + x_m, y, 0.8), (size_m, size_m, size_m)),
        room=room,
        parent=parent,
        relation=relation,
        affordances=known.affordances,
        states={**default_states().initial(known.affordances), **(states or {})},
        color=color,
        surface=part_by_word(class_name, Relation.ON) is not None,
        hollow=part_by_word(class_name, Relation.WITHIN) is not None,
    )


def person(room: str) -> Thing:
    """The only person of the house."""
    x, y = ROOMS[room]
    box = Box.around((x, y - 2.0, 0.9), (0.4, 0.4, 1.8))
    return Thing("agent_1", EntityKind.AGENT, "human", box, room=room, parent=room)


def scene_with(*things: Thing, complete: bool = True) -> Scene:
    """The house with these things."""
    found: dict[str, Thing] = {}
    for room, (x, y) in ROOMS.items():
        class_name = room.rpartition("_")[0]
        box = Box.around((x, y, 1.3), (6.0, 6.0, 2.6))
        found[room] = Thing(room, EntityKind.ROOM, class_name, box, room=room)
        floor = floor_name(room)
        found[floor] = Thing(
            floor, EntityKind.FURNITURE, "floor", box, room=room, parent=room, surface=True
        )
    for name, (room, _) in FURNITURE.items():
        class_name = name.rpartition("_")[0]
        known = default_catalogue().furniture[class_name]
        found[name] = Thing(
            name=name,
            kind=EntityKind.FURNITURE,
            class_name=class_name,
            box=Box.around(_middle(name), (1.0, 1.0, 0.8)),
            room=room,
            parent=room,
            affordances=known.affordances,
            states=default_states().initial(known.affordances),
            openness=0.0 if known.joints else None,
            surface=bool(known.surfaces),
            hollow=bool(known.interiors),
        )
    return Scene({**found, **{item.name: item for item in things}}, complete)


def _middle(name: str) -> tuple[float, float, float]:
    if name not in FURNITURE:
        x, y = ROOMS[name.removeprefix("floor_")]
        return (x + 1.0, y + 1.0, 0.0)
    room, (dx, dy) = FURNITURE[name]
    x, y = ROOMS[room]
    return (x + dx, y + dy, 0.4)
