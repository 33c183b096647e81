"""The world at an episode's start, computed from the files alone.

It equals what a simulator that loads the episode reports for rooms, furniture and objects. Agents
are left out, since the simulator chooses open starting positions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from planner.world.appearance import look_of_piece, look_of_thing
from planner.world.catalogue import Catalogue
from planner.world.episode import Episode, FurnitureChange
from planner.world.geometry import Pose
from planner.world.house import Furniture, House, ObjectPlacement, Room
from planner.world.receptacle import base_placement
from planner.world.state import EntityState
from planner.world.states import default_states
from planner.world.vocabulary import (
    EntityKind,
)


def house_entities(house: House) -> dict[str, EntityState]:
    """Rooms and furniture by name, as in the house file."""
    entities = {room.name: _room_state(room) for room in house.rooms}
    entities.update((piece.name, piece_state(piece, None)) for piece in house.furniture)
    return entities


def with_graph_things(episode: Episode, house: House) -> Episode:
    """The episode with all things that are there; a graph's are, whatever it places."""
    if house.graph is None:
        return episode
    named = {item.name for item in episode.objects}
    others = (item for item in house.objects if item.name not in named)
    return episode.model_copy(update={"objects": (*episode.objects, *others)})


def start_entities(
    episode: Episode,
    house: House,
    catalogue: Catalogue,
    unchanged: Mapping[str, EntityState] | None = None,
) -> dict[str, EntityState]:
    """Rooms, furniture and objects by name at the start.

    Objects of unknown classes have no affordances. Furniture opened by `furniture` is fully open,
    and its drawers' contents move with them. `unchanged` may pass `house_entities` if there are
    many episodes of a house; records that the episode does not change are then reused.
    """
    entities = dict(house_entities(house) if unchanged is None else unchanged)
    for name, change in episode.furniture.items():
        piece = house.furniture_by_name.get(name)
        if piece is not None:
            entities[name] = piece_state(piece, change)
    for item in episode.objects:
        entities[item.name] = _object_state(item, episode, house, catalogue)
    return entities


def _room_state(room: Room) -> EntityState:
    xs, ys = [x for x, _ in room.polygon_m], [y for _, y in room.polygon_m]
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    return EntityState(
        name=room.name,
        kind=EntityKind.ROOM,
        class_name=room.class_name,
        instance_id=0,
        pose=Pose.planar(*middle),
        size_m=(max(xs) - min(xs), max(ys) - min(ys), room.height_m),
        parent=None,
        relation=None,
        room=room.name,
    )


def piece_state(piece: Furniture, change: FurnitureChange | None = None) -> EntityState:
    """Furniture as a world starts with it: closed, and with its usual states, but for `change`."""
    openness = None
    if piece.joints:
        openness = 1.0 if change is not None and change.open else 0.0
    return EntityState(
        name=piece.name,
        kind=EntityKind.FURNITURE,
        class_name=piece.class_name,
        instance_id=0,
        pose=piece.pose,
        size_m=piece.size_m,
        parent=piece.room,
        relation=None,
        room=piece.room,
        affordances=piece.affordances,
        states=default_states().initial(
            piece.affordances, piece.states, change.states if change is not None else {}
        ),
        openness=openness,
        look=look_of_piece(piece),
    )


def _object_state(
    item: ObjectPlacement, episode: Episode, house: House, catalogue: Catalogue
) -> EntityState:
    cls = catalogue.objects.get(item.class_name)
    affordances = cls.affordances if cls is not None else ()
    x, y, z, yaw = item.pose
    base = base_placement(episode.objects, item)
    piece = house.furniture_by_name.get(base.parent)
    if piece is not None:
        dx, dy, dz = _drawn_out(piece, base, episode)
        x, y, z = x + dx, y + dy, z + dz
    return EntityState(
        name=item.name,
        kind=EntityKind.OBJECT,
        class_name=item.class_name,
        instance_id=0,
        pose=Pose.planar(x, y, yaw, z),
        size_m=item.size_m,
        parent=item.parent,
        relation=item.relation,
        room=piece.room if piece is not None else house.room_at(x, y),
        affordances=affordances,
        states=default_states().initial(
            affordances, cls.states if cls is not None else {}, item.states
        ),
        look=look_of_thing(item.class_name, catalogue, item.color, item.material),
    )


def _drawn_out(
    piece: Furniture, item: ObjectPlacement, episode: Episode
) -> tuple[float, float, float]:
    """How far an open drawer moves an object in it, in the map."""
    change = episode.furniture.get(piece.name)
    hollow = next((h for h in piece.interiors if h.name == item.part), None)
    if change is None or not change.open or hollow is None or hollow.joint is None:
        return (0.0, 0.0, 0.0)
    joint = piece.joint(hollow.joint)
    if not hollow.moves or joint.kind != "slide":
        return (0.0, 0.0, 0.0)
    dx, dy, dz = (axis * joint.travel for axis in joint.axis)
    cos, sin = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    return (dx * cos - dy * sin, dx * sin + dy * cos, dz)
