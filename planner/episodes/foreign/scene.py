"""Represents scenes of other data sets in generated houses with the same rooms and furniture.

Of a scene, only what its tasks need is kept: rooms, furniture, and things on or in it. A house is
generated that has all of these; things keep the furniture that they are on or in, and get new
poses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.episodes.partnr.houses import (
    MAX_PIECES_OF_A_CLASS,
    MAX_ROOMS_OF_A_CLASS,
    SceneHouse,
    house_with,
)
from planner.episodes.partnr.placement import UnplaceableError
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world.catalogue import Catalogue
from planner.world.errors import PlannerError
from planner.world.house import House, ObjectPlacement
from planner.world.vocabulary import Relation, floor_name

_ARRANGEMENTS_TRIED = 6


@dataclass
class ForeignScene:
    """The part of a scene that its tasks need.

    Attributes:
        rooms: our name, `<class>_<n>`, of each of the scene's rooms.
        pieces: the class of each piece of furniture and one of our rooms.
    """

    rooms: dict[str, str] = field(default_factory=dict)
    pieces: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add_room(self, name: str, class_name: str) -> str:
        """Adds a room; returns our name for it.

        Raises:
            UnplaceableError: if a house cannot have that many rooms of a class.
        """
        if name not in self.rooms:
            index = sum(room.rpartition("_")[0] == class_name for room in self.rooms.values())
            if index >= MAX_ROOMS_OF_A_CLASS:
                reason = f"a house has at most {MAX_ROOMS_OF_A_CLASS} rooms of class {class_name}"
                raise UnplaceableError(reason)
            self.rooms[name] = f"{class_name}_{index}"
        return self.rooms[name]

    def add_piece(self, name: str, class_name: str, room: str) -> None:
        """Adds a required piece of furniture in one of our rooms.

        Raises:
            UnplaceableError: if a room cannot have that many pieces, or two tasks disagree.
        """
        spot = (class_name, room)
        if name in self.pieces:
            if self.pieces[name] != spot:
                raise UnplaceableError(f"{name} is in {self.pieces[name][1]} by another task")
            return
        if Counter(self.pieces.values())[spot] >= MAX_PIECES_OF_A_CLASS:
            reason = f"a room has at most {MAX_PIECES_OF_A_CLASS} pieces of class {class_name}"
            raise UnplaceableError(reason)
        self.pieces[name] = spot

    def house(self, name: str, seed: int, catalogue: Catalogue) -> SceneHouse:
        """Generates the house.

        Raises:
            PlannerError: if no house with all of this was found.
        """
        made = house_with(name, seed, self.rooms, self.pieces, catalogue)
        if made.unknown:
            raise PlannerError(next(iter(made.unknown.values())))
        return made


@dataclass(frozen=True, slots=True)
class ForeignThing:
    """An object of a scene.

    Attributes:
        name: the scene's.
        class_name: of the catalogue.
        parent: a piece, `floor_<room>`, or one of our rooms for anywhere in it.
        relation: None for any that the parent allows.
        needed: whether the task needs it.
    """

    name: str
    class_name: str
    parent: str
    relation: Relation | None = None
    states: Mapping[str, bool] = field(default_factory=dict)
    needed: bool = True


def place_things(
    house: House, things: Sequence[ForeignThing], rng: np.random.Generator, catalogue: Catalogue
) -> tuple[dict[str, ObjectPlacement], list[str]]:
    """Places a scene's things in its house.

    Returns:
        The placements by the scene's names, and a sentence for each thing that did not fit.

    Raises:
        UnplaceableError: if something that the task needs cannot be placed.
    """
    ordered = sorted(things, key=lambda thing: not thing.needed)
    reason = ""
    for _ in range(_ARRANGEMENTS_TRIED):
        requests = [_request(thing, house, catalogue) for thing in ordered]
        outcome = place_objects(house, requests, rng)
        missing = [
            (thing, item.reason)
            for thing, item in zip(ordered, outcome, strict=True)
            if isinstance(item, Unplaced)
        ]
        hard = [(thing, why) for thing, why in missing if thing.needed]
        if not hard:
            placed = {
                thing.name: item
                for thing, item in zip(ordered, outcome, strict=True)
                if isinstance(item, ObjectPlacement)
            }
            return placed, [f"{thing.name} has no place: {why}" for thing, why in missing]
        reason = f"{hard[0][0].name}: {hard[0][1]}"
        first = {thing.name for thing, _ in hard}
        ordered.sort(key=lambda thing: (not thing.needed, thing.name not in first))
    raise UnplaceableError(reason)


def _request(thing: ForeignThing, house: House, catalogue: Catalogue) -> ObjectRequest:
    relation, places = _where(thing, house, catalogue)
    return ObjectRequest((thing.class_name,), relation, places, thing.states)


def _where(
    thing: ForeignThing, house: House, catalogue: Catalogue
) -> tuple[Relation, tuple[str, ...]]:
    if thing.parent in house.rooms_by_name:
        return Relation.ON, _in_room(thing, house, catalogue)
    piece = house.furniture_by_name.get(thing.parent)
    relation = thing.relation
    if piece is not None and relation is None:
        relation = Relation.ON if piece.surfaces else Relation.WITHIN
    if piece is not None and relation is Relation.WITHIN and not piece.interiors:
        relation = Relation.ON  # "Inside" a sofa or a shelf is on it in our houses.
    return relation or Relation.ON, (thing.parent,)


def _in_room(thing: ForeignThing, house: House, catalogue: Catalogue) -> tuple[str, ...]:
    """Where in a room a thing is likely to lie; any surface or the floor if nowhere is likely."""
    pieces = [p for p in house.furniture if p.room == thing.parent and p.surfaces]
    likely = {place.furniture for place in catalogue.objects[thing.class_name].places}
    names = [p.name for p in pieces if p.class_name in likely] or [p.name for p in pieces]
    return (*names, floor_name(thing.parent)) if not names else tuple(names)
