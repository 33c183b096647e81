"""What importers share: safe reading, and scenes of other data sets as houses of ours."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from planner.episodes.importing.importer import UnplaceableError
from planner.episodes.importing.simulator_words import (
    MAX_PIECES_OF_A_CLASS,
    MAX_ROOMS_OF_A_CLASS,
    LocatedNames,
    SceneHouse,
    needs_of,
    scene_house,
)
from planner.houses.clutter import ObjectRequest, Unplaced, place_objects
from planner.world import files
from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.house import House, ObjectPlacement
from planner.world.receptacle import part_of
from planner.world.vocabulary import Relation, floor_name

# 100,000 episodes need less; a decompression bomb needs more.
MAX_BYTES = 1 << 30
MAX_LINE_CHARACTERS = 1 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file's text and the hash of its bytes."""

    path: Path
    text: str
    sha256: str


def read_foreign(path: Path, max_bytes: int = MAX_BYTES) -> ForeignFile:
    """Reads a text file, decompressing `.gz`.

    Raises:
        FileError: if it is missing, corrupt, too large or not UTF-8.
    """
    try:
        packed = files.read_bytes(path, max_bytes)
        raw = _unpacked(path, packed, max_bytes) if path.suffix == ".gz" else packed
        text = raw.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return ForeignFile(path, text, hashlib.sha256(packed).hexdigest())


def _unpacked(path: Path, packed: bytes, max_bytes: int) -> bytes:
    found = bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        while chunk := stream.read(_CHUNK):
            found += chunk
            if len(found) > max_bytes:
                raise FileError(path, "", f"unpacks to more than {max_bytes} bytes")
    return bytes(found)


def parse_foreign(text: str, source: Path | str, field: str = "") -> object:
    """Parses JSON; NaN and infinities, which JSON does not allow, are errors.

    Raises:
        FileError: with file, field and reason.
    """
    return files.parse_json(
        text, source, field, max_chars=MAX_BYTES, max_values=MAX_BYTES, is_finite=True
    )


def json_lines(file: ForeignFile) -> Iterator[tuple[int, object | FileError]]:
    """The documents of a JSON-lines file with their line numbers from 1; skips empty lines."""
    for number, line in enumerate(file.text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        if len(line) > MAX_LINE_CHARACTERS:
            reason = f"is longer than {MAX_LINE_CHARACTERS} characters"
            yield number, FileError(file.path, where, reason)
            continue
        try:
            yield number, parse_foreign(line, file.path, where)
        except FileError as error:
            yield number, error


# Represents scenes of other data sets in generated houses with the same rooms and furniture.
#
# Of a scene, only what its tasks need is kept: rooms, furniture, and things on or in it. A house is
# generated that has all of these; things keep the furniture that they are on or in, and get new
# poses.

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
        located = LocatedNames(dict(self.rooms), dict(self.pieces), {})
        made = scene_house(name, seed, needs_of(located), located, catalogue)
        if made.unknown:
            raise PlannerError(next(iter(made.unknown.values())))
        return made


@dataclass(frozen=True, slots=True)
class ForeignThing:
    """An object of a scene.

    Attributes:
        name: the scene's.
        class_name: of the catalogue.
        parent: a piece, the scene's name of another thing, `floor_<room>`, or one of our rooms for
            anywhere in it.
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
    """Places a scene's things in its house, those that hold others first.

    Returns:
        The placements by the scene's names, and a sentence for each thing that did not fit, or that
        is beside the thing that it should be in or on.

    Raises:
        UnplaceableError: if something that the task needs cannot be placed.
    """
    placing = _Placing(house, rng, catalogue)
    waiting = sorted(things, key=lambda thing: not thing.needed)
    while waiting:
        names = {thing.name for thing in waiting}
        ready = [thing for thing in waiting if thing.parent not in names]
        if not ready:
            raise UnplaceableError(f"{waiting[0].name} is in or on itself")
        placing.add(ready)
        waiting = [thing for thing in waiting if thing.parent in names]
    return placing.placed, placing.notes


class _Placing:
    """A house while a scene's things are placed in it."""

    def __init__(self, house: House, rng: np.random.Generator, catalogue: Catalogue) -> None:
        self._house, self._rng, self._catalogue = house, rng, catalogue
        self._given: dict[str, ForeignThing] = {}
        self.placed: dict[str, ObjectPlacement] = {}
        self.notes: list[str] = []

    def add(self, things: Sequence[ForeignThing]) -> None:
        """Places things, all of whose holders are placed."""
        self._given |= {thing.name: thing for thing in things}
        ordered, occupied, reason = list(things), list(self.placed.values()), ""
        for _ in range(_ARRANGEMENTS_TRIED):
            requests = [self._request(thing) for thing in ordered]
            outcome = place_objects(self._house, requests, self._rng, occupied)
            missing = {
                thing.name: item.reason
                for thing, item in zip(ordered, outcome, strict=True)
                if isinstance(item, Unplaced)
            }
            nested = [t for t in ordered if t.name in missing and t.parent in self.placed]
            if nested:
                ordered = [self._beside(t, missing) if t in nested else t for t in ordered]
                continue
            hard = [thing.name for thing in ordered if thing.name in missing and thing.needed]
            if not hard:
                for thing, item in zip(ordered, outcome, strict=True):
                    if isinstance(item, ObjectPlacement):
                        self.placed[thing.name] = item
                self.notes += [f"{name} has no place: {why}" for name, why in missing.items()]
                return
            reason = f"{hard[0]}: {missing[hard[0]]}"
            ordered.sort(key=lambda thing: (not thing.needed, thing.name not in hard))
        raise UnplaceableError(reason)

    def _beside(self, thing: ForeignThing, missing: Mapping[str, str]) -> ForeignThing:
        """The thing where what should hold it is."""
        holder = self.placed[thing.parent]
        self.notes.append(f"{thing.name} is beside the {holder.class_name}: {missing[thing.name]}")
        given = self._given[thing.parent]
        return replace(thing, parent=given.parent, relation=given.relation)

    def _request(self, thing: ForeignThing) -> ObjectRequest:
        relation, places = self._where(thing)
        return ObjectRequest((thing.class_name,), relation, places, thing.states)

    def _where(self, thing: ForeignThing) -> tuple[Relation, tuple[str, ...]]:
        house, relation = self._house, thing.relation
        if thing.parent in self.placed:
            holder = self.placed[thing.parent]
            cls = self._catalogue.objects[holder.class_name]
            order = (Relation.ON, Relation.WITHIN)
            if relation is not Relation.ON:
                order = (Relation.WITHIN, Relation.ON)
            parts = (each for each in order if part_of(cls, each) is not None)
            return next(parts, order[0]), (holder.name,)
        if thing.parent in house.rooms_by_name:
            return Relation.ON, _in_room(thing, house, self._catalogue)
        piece = house.furniture_by_name.get(thing.parent)
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
