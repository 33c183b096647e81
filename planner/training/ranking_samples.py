"""Where things truly are in houses: what the ranking model is trained and scored on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.planning.et_ranking.network import Hold
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a room: a piece of furniture, by its index in the room, and how it holds."""

    piece: int
    hold: Hold


@dataclass(frozen=True)
class RoomTruth:
    """A room.

    Attributes:
        class_name: its class.
        furniture: classes of its pieces.
        spots: every way in which its furniture holds things.
    """

    class_name: str
    furniture: tuple[str, ...]
    spots: tuple[Spot, ...]


@dataclass(frozen=True)
class HouseTruth:
    """A house and what is where.

    Attributes:
        name, seed: of the house.
        rooms: all of them.
        things: by class of objects, the number in each (room, spot); -1 is the floor.
    """

    name: str
    seed: int | None
    rooms: tuple[RoomTruth, ...]
    things: dict[str, Counter[tuple[int, int]]]

    @cached_property
    def furniture(self) -> dict[str, Counter[int]]:
        """By class of furniture, the number of pieces in each room."""
        found: dict[str, Counter[int]] = {}
        for number, room in enumerate(self.rooms):
            for piece in room.furniture:
                found.setdefault(piece, Counter())[number] += 1
        return found


def house_truth(house: House) -> HouseTruth:
    """What is where in a house."""
    pieces = {
        room.name: [piece for piece in house.furniture if piece.room == room.name]
        for room in house.rooms
    }
    rooms = tuple(
        RoomTruth(
            room.class_name,
            tuple(piece.class_name for piece in pieces[room.name]),
            tuple(_spots(pieces[room.name])),
        )
        for room in house.rooms
    )
    place_of = {
        piece.name: (number, at, piece)
        for number, room in enumerate(house.rooms)
        for at, piece in enumerate(pieces[room.name])
    }
    floors = {f"floor_{room.name}": number for number, room in enumerate(house.rooms)}
    things: dict[str, Counter[tuple[int, int]]] = {}
    for thing in house.objects:
        if thing.parent in floors:
            key = (floors[thing.parent], -1)
        elif thing.parent in place_of:
            number, at, piece = place_of[thing.parent]
            hold = Hold.ON if thing.relation is Relation.ON else _hold(piece, thing.part)
            key = (number, rooms[number].spots.index(Spot(at, hold)))
        else:
            continue  # On or in another thing.
        things.setdefault(thing.class_name, Counter())[key] += 1
    return HouseTruth(house.name, house.seed, rooms, things)


def _spots(pieces: Sequence[Furniture]) -> Iterable[Spot]:
    for at, piece in enumerate(pieces):
        if piece.surfaces:
            yield Spot(at, Hold.ON)
        for hold in sorted({_hold(piece, hollow.name) for hollow in piece.interiors}):
            yield Spot(at, hold)


def _hold(piece: Furniture, part: str) -> Hold:
    joint = next(hollow.joint for hollow in piece.interiors if hollow.name == part)
    return Hold.OPEN if joint is None else Hold.CLOSED
