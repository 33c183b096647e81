"""The rules for each class of room and its furniture: config/house_programs.yaml."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.world.catalogue import Catalogue, Name, default_catalogue
from planner.world.errors import FileError
from planner.world.files import FileModel, read_model
from planner.world.shapes import Size3
from planner.world.share import config_dir

Metres = Annotated[float, Field(ge=0)]
Chance = Annotated[float, Field(ge=0, le=1)]


class Zone(StrEnum):
    """The function of a room in a floor plan."""

    PUBLIC = "public"
    PRIVATE = "private"
    SERVICE = "service"
    PASSAGE = "passage"


class Place(StrEnum):
    """The usual place of a piece of furniture in a room."""

    WALL = "wall"
    WALL_MIDDLE = "wall_middle"
    CORNER = "corner"
    OPEN = "open"


class StandRule(FileModel):
    """How a class of furniture stands: its place, and the depth of floor free in front of it."""

    place: Place = Place.WALL
    front_m: Metres = 0.0


class SizeRange(FileModel):
    """A narrower range of sizes than the class's: a coffee table is a low table."""

    size_min_m: Size3
    size_max_m: Size3


class Companion(FileModel):
    """Furniture that accompanies another piece.

    `beside`: to its left and right, backs aligned. `around`: facing it on all sides. `ahead`: in
    front of it, facing it; several follow each other. `flank`: left and right of the first piece
    ahead, facing that piece. `behind`: between it and the wall.
    """

    furniture: Name
    at: Literal["beside", "around", "ahead", "flank", "behind"]
    count: tuple[int, int] = (1, 1)
    gap_m: Metres = 0.03
    size: SizeRange | None = None


class GroupRule(FileModel):
    """A piece of furniture with its companions, or a `run` of pieces side by side.

    `count` groups are tried, each with probability `chance`; an `essential` group is always there,
    and the room grows if necessary.
    """

    furniture: Name | None = None
    run: tuple[Name, ...] = ()
    companions: tuple[Companion, ...] = ()
    count: tuple[int, int] = (1, 1)
    chance: Chance = 1.0
    essential: bool = False
    place: Place | None = None
    size: SizeRange | None = None

    @model_validator(mode="after")
    def _either(self) -> GroupRule:
        if (self.furniture is None) == (not self.run):
            raise ValueError("a group has either `furniture` or `run`")
        return self


class RoomRule(FileModel):
    """A class of rooms.

    `entered_from` is the cost of reaching it from each other class, 0 for the most natural;
    `entrance` its rank among rooms with the front door; `weight` its frequency in random houses,
    at most `most` per house.
    """

    room: Name
    zone: Zone
    area_m2: tuple[float, float]
    min_side_m: Annotated[float, Field(ge=1.2)]
    max_aspect: Annotated[float, Field(ge=1)] = 2.2
    entrance: int = 9
    entered_from: dict[Name, float] = Field(default_factory=dict)
    weight: Annotated[float, Field(ge=0)] = 0.0
    most: Annotated[int, Field(ge=1)] = 1
    groups: tuple[GroupRule, ...] = ()


class _ProgramFile(FileModel):
    version: Literal[1]
    standing: dict[Name, StandRule]
    rooms: tuple[RoomRule, ...]


class HousePrograms:
    """The rules by class of room and of furniture."""

    def __init__(self, standing: dict[str, StandRule], rooms: tuple[RoomRule, ...]) -> None:
        self.standing = standing
        self.rooms = {rule.room: rule for rule in rooms}

    def stand(self, class_name: str) -> StandRule:
        """How a class stands; with its back to a wall by default."""
        return self.standing.get(class_name, StandRule(front_m=0.6))


def load_programs(path: Path, catalogue: Catalogue) -> HousePrograms:
    """Reads the rules and checks every class name against the catalogue.

    Raises:
        FileError: with file, field and reason.
    """
    file = read_model(path, _ProgramFile)
    for name in file.standing:
        if name not in catalogue.furniture:
            raise FileError(path, f"standing.{name}", "unknown class of furniture")
    for rule in file.rooms:
        if rule.room not in catalogue.rooms:
            raise FileError(path, f"rooms.{rule.room}", "unknown class of room")
        for group in rule.groups:
            wanted = (group.furniture, *group.run, *(c.furniture for c in group.companions))
            for word in wanted:
                if word is not None and word not in catalogue.furniture:
                    raise FileError(path, f"rooms.{rule.room}", f"unknown furniture {word!r}")
    return HousePrograms(file.standing, file.rooms)


@lru_cache(maxsize=1)
def default_programs() -> HousePrograms:
    """The shipped rules, read once."""
    return load_programs(config_dir() / "house_programs.yaml", default_catalogue())
