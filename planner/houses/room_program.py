"""The rules for each class of room and its furniture, and the rectangles for planning them."""

from __future__ import annotations

from dataclasses import dataclass
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

# Axis-aligned rectangles for planning rooms and furniture; metres.


@dataclass(frozen=True, slots=True)
class Rect:
    """The closed rectangle [x0, x1] x [y0, y1]."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Extent along x."""
        return self.x1 - self.x0

    @property
    def depth(self) -> float:
        """Extent along y."""
        return self.y1 - self.y0

    @property
    def area_m2(self) -> float:
        """Width times depth."""
        return self.width * self.depth

    @property
    def short_side(self) -> float:
        """The smaller of width and depth."""
        return min(self.width, self.depth)

    @property
    def aspect(self) -> float:
        """Long side over short side; infinite for a degenerate rectangle."""
        short = self.short_side
        return max(self.width, self.depth) / short if short > 0 else float("inf")

    def grown(self, by: float) -> Rect:
        """Grown on all four sides, or shrunk if negative."""
        return Rect(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def moved(self, x: float, y: float) -> Rect:
        """Shifted by (x, y)."""
        return Rect(self.x0 + x, self.y0 + y, self.x1 + x, self.y1 + y)

    def turned(self, quarters: int) -> Rect:
        """Rotated about the origin by quarter turns counter-clockwise."""
        return (
            self,
            Rect(-self.y1, self.x0, -self.y0, self.x1),
            Rect(-self.x1, -self.y1, -self.x0, -self.y0),
            Rect(self.y0, -self.x1, self.y1, -self.x0),
        )[quarters % 4]

    def corners(self) -> tuple[tuple[float, float], ...]:
        """Counter-clockwise from the lower left."""
        return ((self.x0, self.y0), (self.x1, self.y0), (self.x1, self.y1), (self.x0, self.y1))


@dataclass(frozen=True, slots=True)
class Wall:
    """A straight piece of wall: at `at` across its axis, from `low` to `high` along it."""

    axis: Literal["x", "y"]
    at: float
    low: float
    high: float

    @property
    def length(self) -> float:
        """From `low` to `high`."""
        return self.high - self.low


def shared_wall(a: Rect, b: Rect) -> Wall | None:
    """The wall that two non-overlapping rectangles share."""
    for one, two in ((a, b), (b, a)):
        if abs(one.x1 - two.x0) < 1e-6:
            low, high = max(a.y0, b.y0), min(a.y1, b.y1)
            if high - low > 1e-6:
                return Wall("y", one.x1, low, high)
        if abs(one.y1 - two.y0) < 1e-6:
            low, high = max(a.x0, b.x0), min(a.x1, b.x1)
            if high - low > 1e-6:
                return Wall("x", one.y1, low, high)
    return None


def outer_walls(rect: Rect, others: list[Rect]) -> list[Wall]:
    """The pieces of a rectangle's sides that no other rectangle touches, longest first."""
    sides = (
        Wall("x", rect.y0, rect.x0, rect.x1),
        Wall("x", rect.y1, rect.x0, rect.x1),
        Wall("y", rect.x0, rect.y0, rect.y1),
        Wall("y", rect.x1, rect.y0, rect.y1),
    )
    taken = [wall for other in others if (wall := shared_wall(rect, other)) is not None]
    free: list[Wall] = []
    for side in sides:
        pieces = [(side.low, side.high)]
        for wall in taken:
            if wall.axis == side.axis and abs(wall.at - side.at) < 1e-6:
                pieces = [
                    (low, high)
                    for start, end in pieces
                    for low, high in ((start, min(end, wall.low)), (max(start, wall.high), end))
                    if high - low > 1e-6
                ]
        free += [Wall(side.axis, side.at, low, high) for low, high in pieces]
    return sorted(free, key=lambda wall: -wall.length)


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
