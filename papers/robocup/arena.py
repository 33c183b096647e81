"""An arena: the rooms, furniture, things and names that commands speak of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from planner.language.lexicon import Kind, Relation, resting_relations
from planner.world.catalogue import default_word_meanings
from planner.world.files import FileModel, read_model
from planner.world.house import House
from planner.world.share import config_dir

SHIPPED = config_dir() / "arena.yaml"
Name = Annotated[str, Field(pattern=r"^[A-Z][a-z]{1,30}$")]


class Arena(FileModel):
    """What can be named in commands; every word is of the catalogue.

    Attributes:
        rooms: with furniture that is there once.
        things: kinds of things by a word for all of them.
        names: of people.
    """

    rooms: Mapping[Kind, tuple[Kind, ...]] = Field(min_length=2)
    things: Mapping[Kind, tuple[Kind, ...]] = Field(min_length=1)
    names: tuple[Name, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _suffices(self) -> Self:
        if len(self.surfaces) < 2:
            raise ValueError("rooms: expected two pieces of furniture on which things can lie")
        twice = [word for word, times in Counter(self.furniture).items() if times > 1]
        if twice:
            raise ValueError(f"rooms: {twice[0]!r} is there twice")
        for word, kinds in self.things.items():
            if wrong := [kind for kind in kinds if not _is_of(word, kind)]:
                raise ValueError(f"things.{word}: {wrong[0]!r} is none")
            if not kinds:
                raise ValueError(f"things.{word}: expected at least one kind")
        return self

    @property
    def furniture(self) -> tuple[str, ...]:
        """All of it."""
        return tuple(piece for pieces in self.rooms.values() for piece in pieces)

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Furniture on which things can lie."""
        return tuple(p for p in self.furniture if Relation.ON_TOP in resting_relations(p))

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of things."""
        return tuple(kind for kinds in self.things.values() for kind in kinds)


def read_arena(path: Path = SHIPPED) -> Arena:
    """Reads an arena from YAML.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, Arena)


def arena_of(house: House) -> Arena:
    """The arena of a house: rooms and furniture of which it has one, and the things in it.

    People have the names of the shipped arena.

    Raises:
        ValueError: if the house has too little of that.
    """
    shipped = read_arena()
    rooms = Counter(room.class_name for room in house.rooms)
    kind_of = {room.name: room.class_name for room in house.rooms}
    pieces = Counter(piece.class_name for piece in house.furniture)
    found: dict[str, list[str]] = {_words(name): [] for name, n in rooms.items() if n == 1}
    for piece in house.furniture:
        room = _words(kind_of[piece.room])
        if room in found and pieces[piece.class_name] == 1:
            found[room].append(_words(piece.class_name))
    kinds = sorted({_words(item.class_name) for item in house.objects})
    # "A toy fruits" is nothing that anybody says.
    kinds = [kind for kind in kinds if not kind.endswith("s") or kind.endswith("ss")]
    groups = {word: [kind for kind in kinds if _is_of(word, kind)] for word in shipped.things}
    things = {word: some for word, some in groups.items() if some}
    return Arena.model_validate({"rooms": found, "things": things, "names": shipped.names})


def _is_of(word: str, kind: str) -> bool:
    """Whether some class of a kind is of those that another word covers."""
    group, one = (default_word_meanings().find(name) for name in (word, kind))
    return group is not None and one is not None and not group.objects.isdisjoint(one.objects)


def _words(class_name: str) -> str:
    return class_name.replace("_", " ")
