"""The initial scene of an episode, in which the words of its instruction are looked up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.receptacle import base_placement
from planner.world.vocabulary import Relation, floor_name


@dataclass(frozen=True, slots=True)
class Thing:
    """An object at the start: what it is on or inside of, and the room of that."""

    name: str
    class_name: str
    parent: str
    room: str
    relation: Relation = Relation.ON


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of furniture and what can be put on or into it."""

    name: str
    class_name: str
    room: str
    has_surface: bool
    has_interior: bool


@dataclass(frozen=True)
class Scene:
    """Rooms by name with their class, furniture, and objects at the start."""

    rooms: dict[str, str]
    furniture: tuple[Piece, ...]
    objects: tuple[Thing, ...]

    @cached_property
    def pieces(self) -> dict[str, Piece]:
        """The furniture by name."""
        return {piece.name: piece for piece in self.furniture}

    def rooms_of_class(self, classes: Iterable[str]) -> list[str]:
        """The rooms of any of these classes, in the house's order."""
        chosen = set(classes)
        return [name for name, class_name in self.rooms.items() if class_name in chosen]


def scene_of(episode: Episode, house: House) -> Scene:
    """The start of an episode as the derivation rules need it."""
    room_of = {piece.name: piece.room for piece in house.furniture}
    room_of |= {floor_name(room.name): room.name for room in house.rooms}
    return Scene(
        rooms={room.name: room.class_name for room in house.rooms},
        furniture=tuple(
            Piece(p.name, p.class_name, p.room, bool(p.surfaces), bool(p.interiors))
            for p in house.furniture
        ),
        objects=tuple(
            Thing(
                item.name,
                item.class_name,
                item.parent,
                room_of[base_placement(episode.objects, item).parent],
                item.relation,
            )
            for item in episode.objects
        ),
    )
