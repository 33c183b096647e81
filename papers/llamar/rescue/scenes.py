"""Scenes as read from files: the grid, and fires that burn and spread (LLAMAR-A3, LLAMAR-A5)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir

# Cells and directions of the grid: x to the right, y down, the origin at the top left.

Cell: TypeAlias = tuple[int, int]

SIZE = 30
# The radius of reservoirs, deposits and agents: the diagonal of a 3 by 3 block in whole cells, as
# the published code compares it (LLAMAR-A2).
NEAR = math.floor(3 * math.sqrt(2))


class Direction(StrEnum):
    """The directions of `Move`."""

    UP = "Up"
    DOWN = "Down"
    LEFT = "Left"
    RIGHT = "Right"
    CENTER = "Center"

    @property
    def offset(self) -> Cell:
        """The cell that it leads to, from (0, 0)."""
        return _OFFSETS[self]


_OFFSETS = {
    Direction.UP: (0, -1),
    Direction.DOWN: (0, 1),
    Direction.LEFT: (-1, 0),
    Direction.RIGHT: (1, 0),
    Direction.CENTER: (0, 0),
}
# The directions in which an agent explores, clockwise, from up.
HEADINGS: tuple[Cell, ...] = ((0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1))


def is_inside(cell: Cell) -> bool:
    """Whether a cell is on the grid."""
    return 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE


def away(cell: Cell, other: Cell) -> float:
    """The Euclidean distance of two cells, in cells."""
    return math.hypot(cell[0] - other[0], cell[1] - other[1])


def block(cell: Cell) -> Iterator[Cell]:
    """The 3 by 3 cells around one, row by row; some may be outside the grid."""
    x, y = cell
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            yield (x + dx, y + dy)


@cache
def offsets_by_distance(radius: float) -> tuple[Cell, ...]:
    """All offsets up to a distance, the nearest first, then row by row."""
    reach = math.floor(radius)
    found = [
        (dx, dy)
        for dy in range(-reach, reach + 1)
        for dx in range(-reach, reach + 1)
        if math.hypot(dx, dy) <= radius
    ]
    return tuple(sorted(found, key=lambda d: (d[0] ** 2 + d[1] ** 2, d[1], d[0])))


# Fires: cells that burn, get hotter, light their neighbours, and are put out (LLAMAR-A3).

# The share of its box that a fire's disc is meant to fill (see `_radius`).
_FILL = 0.85
# The clock of a burning cell counts fire ticks; at these readings the next tick makes it hotter.
_MEDIUM_AT = 3
_HIGH_AT = 6


class Intensity(IntEnum):
    """How hot a cell burns."""

    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def word(self) -> str:
        """As in texts."""
        return self.name.capitalize()


class Supply(StrEnum):
    """What puts fires out."""

    SAND = "Sand"
    WATER = "Water"


class FireKind(StrEnum):
    """The kinds of fires."""

    CHEMICAL = "Chemical"
    NON_CHEMICAL = "Non-chemical"

    @property
    def supply(self) -> Supply:
        """What puts it out."""
        return Supply.SAND if self is FireKind.CHEMICAL else Supply.WATER


class Fire:
    """One fire.

    Attributes:
        name: such as `CaldorFire`.
        kind: of the fire.
        cells: all that can burn, row by row.
        regions: the middles of its named regions, `<name>_Region_1` first; each cell that can burn
            is next to one, or is one.
        radius: in cells; who is this close to a burning cell can put it out (LLAMAR-A10).
    """

    def __init__(
        self, name: str, kind: FireKind, cells: Iterable[Cell], lit: Sequence[Cell], radius: float
    ) -> None:
        """A fire that burns low in some of its cells.

        Args:
            name: of the fire.
            kind: of the fire.
            cells: all that can burn.
            lit: those that burn at the start; they are the first regions.
            radius: in cells.

        Raises:
            ValueError: if nothing burns, or a lit cell cannot burn.
        """
        self.name, self.kind, self.radius = name, kind, radius
        self.cells = tuple(sorted(set(cells), key=lambda cell: (cell[1], cell[0])))
        self._can_burn = frozenset(self.cells)
        if not lit or not self._can_burn.issuperset(lit):
            raise ValueError(f"{name}: expected lit cells among those that can burn, got {lit}")
        self.regions = _regions(self.cells, lit)
        self._levels = dict.fromkeys(lit, Intensity.LOW)
        self._clocks = dict.fromkeys(lit, 0)
        self._neighbours = {
            cell: tuple(near for near in block(cell) if near != cell and near in self._can_burn)
            for cell in self.cells
        }

    @staticmethod
    def in_box(
        name: str,
        kind: FireKind,
        *,
        corner: Cell,
        width: int,
        height: int,
        lit: int,
        rng: random.Random,
    ) -> Fire:
        """A round fire in a box, lit evenly on a ring whose phase is random.

        Args:
            name: of the fire.
            kind: of the fire.
            corner: the top left cell of the box.
            width: of the box, in cells.
            height: of the box, in cells.
            lit: how many cells burn at the start.
            rng: determines the phase.

        Raises:
            ValueError: if the ring is too small for that many cells.
        """
        radius = _radius(width, height)
        middle_x, middle_y = corner[0] + width // 2, corner[1] + height // 2
        cells = [
            (x, y)
            for y in range(corner[1], corner[1] + height)
            for x in range(corner[0], corner[0] + width)
            if math.hypot(x - middle_x, y - middle_y) < radius
        ]
        ring = math.floor(min(2 * radius / 3, 3 / 8 * min(width, height)))
        phase = rng.uniform(0.0, 2 * math.pi)
        angles = [phase + 2 * math.pi * k / lit for k in range(lit)]
        found = [
            (
                middle_x + math.trunc(ring * math.cos(angle)),
                middle_y + math.trunc(ring * math.sin(angle)),
            )
            for angle in angles
        ]
        if len(set(found)) < lit:
            raise ValueError(f"{name}: a ring in {width} by {height} cells has no {lit} cells")
        return Fire(name, kind, cells, found, math.ceil(radius))

    # Reading

    @property
    def burns(self) -> bool:
        """Whether any cell burns."""
        return bool(self._levels)

    @property
    def burning(self) -> tuple[Cell, ...]:
        """The cells that burn."""
        return tuple(self._levels)

    def intensity(self, cell: Cell) -> Intensity:
        """How hot a cell burns."""
        return self._levels.get(cell, Intensity.NONE)

    @property
    def average(self) -> Intensity:
        """The rounded average of all cells; at least low while any burns."""
        if not self._levels:
            return Intensity.NONE
        return Intensity(max(1, round(sum(self._levels.values()) / len(self.cells))))

    def region_name(self, index: int) -> str:
        """The name of a region by its place in `regions`."""
        return f"{self.name}_Region_{index + 1}"

    def around(self, cell: Cell) -> Intensity:
        """The most heat in the 3 by 3 cells around one: what is shown of a region."""
        levels = self._levels
        return max((levels[near] for near in block(cell) if near in levels), default=Intensity.NONE)

    def is_near(self, cell: Cell) -> bool:
        """Whether a burning cell is within the fire's radius."""
        return any(away(cell, lit) <= self.radius for lit in self._levels)

    # Changes

    def tick(self) -> None:
        """One step of the fire: it spreads, then each burning cell's clock advances.

        A cell that has just been lit counts this step as its first.
        """
        levels, clocks = self._levels, self._clocks
        for cell in [c for c, level in levels.items() if level >= Intensity.MEDIUM]:
            for near in self._neighbours[cell]:
                if near not in levels:
                    levels[near], clocks[near] = Intensity.LOW, 0
        for cell, level in levels.items():
            if level is Intensity.LOW and clocks[cell] == _MEDIUM_AT:
                levels[cell] = Intensity.MEDIUM
            elif level is Intensity.MEDIUM and clocks[cell] == _HIGH_AT:
                levels[cell] = Intensity.HIGH
            clocks[cell] += 1

    def damp(self, around: Cell) -> bool:
        """One supply unit: each of the 3 by 3 cells around one burns a level lower.

        Their clocks restart, so a cell that is medium again takes as long to get high as one that
        was just lit. Returns whether any of the cells is the fire's, whether it burns or not.
        """
        for cell in block(around):
            level = self._levels.get(cell)
            if level is None:
                continue
            if level is Intensity.LOW:
                del self._levels[cell], self._clocks[cell]
            else:
                self._levels[cell], self._clocks[cell] = Intensity(level - 1), 0
        return any(cell in self._can_burn for cell in block(around))


def _radius(width: int, height: int) -> float:
    """The radius of a fire's disc in cells, by the published code's rule (LLAMAR-A3).

    A disc inside its box fills up to pi / 4 of it; beyond that the rule interpolates to the disc
    around the box, with the fourth power, so 0.85 gives little more than the disc inside.
    """
    inside, around = min(width, height) / 2, math.hypot(width, height)
    beyond = (_FILL - math.pi / 4) / (1 - math.pi / 4)
    return inside + (around - inside) * beyond**4


def _regions(cells: Sequence[Cell], lit: Sequence[Cell]) -> tuple[Cell, ...]:
    """The lit cells, then the cells next to most that are next to no region yet."""
    regions = list(lit)
    left = set(cells).difference(*(block(cell) for cell in regions))
    while left:
        best = max(cells, key=lambda cell: sum(near in left for near in block(cell)))
        regions.append(best)
        left.difference_update(block(best))
    return tuple(regions)


MAX_AGENTS = 6

Index = Annotated[int, Field(ge=0, lt=SIZE)]
Position = tuple[Index, Index]


class FireRecord(FileModel):
    """A fire: its box by the top left cell, width and height, and how many cells burn first."""

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]*Fire$")]
    kind: FireKind
    lit: Annotated[int, Field(ge=1, le=8)]
    width: Annotated[int, Field(ge=3, le=SIZE)]
    height: Annotated[int, Field(ge=3, le=SIZE)]
    corner: Position

    @model_validator(mode="after")
    def _fits(self) -> FireRecord:
        if self.corner[0] + self.width > SIZE or self.corner[1] + self.height > SIZE:
            raise ValueError(f"{self.name}: its box is not on the grid of {SIZE} by {SIZE}")
        return self


class ReservoirRecord(FileModel):
    """An infinite source of one supply."""

    name: Annotated[str, Field(pattern=r"^Reservoir[A-Z][A-Za-z]*$")]
    supply: Supply
    cell: Position


class DepositRecord(FileModel):
    """Where people are brought and supplies can be kept."""

    name: Annotated[str, Field(pattern=r"^Deposit[A-Z][A-Za-z]*$")]
    cell: Position


class PersonRecord(FileModel):
    """A lost person.

    `find_probability` times the largest distance of a corner of the grid is the distance at which
    the person is spotted; `extra_load` is how many more than two have to carry.
    """

    name: Annotated[str, Field(pattern=r"^LostPerson[A-Z][A-Za-z]*$")]
    cell: Position
    find_probability: Annotated[float, Field(gt=0, le=1)] = 0.2
    extra_load: Annotated[int, Field(ge=0, le=MAX_AGENTS - 2)] = 0


class Scene(FileModel):
    """One scene; `starts` are the cells of up to six agents."""

    version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    instruction: Annotated[str, Field(min_length=1)]
    fires: tuple[FireRecord, ...] = ()
    reservoirs: tuple[ReservoirRecord, ...] = ()
    deposits: tuple[DepositRecord, ...] = ()
    persons: tuple[PersonRecord, ...] = ()
    starts: tuple[Position, ...] = Field(min_length=1, max_length=MAX_AGENTS)

    @property
    def solids(self) -> tuple[ReservoirRecord | DepositRecord | PersonRecord, ...]:
        """What nobody can walk into."""
        return (*self.reservoirs, *self.deposits, *self.persons)

    @model_validator(mode="after")
    def _is_possible(self) -> Scene:
        names = [each.name for each in (*self.fires, *self.solids)]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(f"the name {twice!r} is used twice")
        taken: dict[Cell, str] = {}
        places = [(f"starts.{i}", cell) for i, cell in enumerate(self.starts)]
        for what, cell in [*((each.name, each.cell) for each in self.solids), *places]:
            if cell in taken:
                raise ValueError(f"{what}: {taken[cell]} is in the cell {cell} already")
            taken[cell] = what
        held = {reservoir.supply for reservoir in self.reservoirs}
        for fire in self.fires:
            if fire.kind.supply not in held:
                raise ValueError(f"{fire.name} needs {fire.kind.supply}, and no reservoir has it")
        if self.persons and not self.deposits:
            raise ValueError(f"{self.persons[0].name} cannot be brought to any deposit")
        if not self.fires and not self.persons:
            raise ValueError("there is nothing to do: no fires and no persons")
        return self


def scene_names() -> tuple[str, ...]:
    """The shipped scenes."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def load_scene(name: str) -> Scene:
    """A shipped scene by name, or one of a file by its path.

    Raises:
        PlannerError: naming the file, the field and the reason.
    """
    if re.fullmatch(r"[a-z][a-z0-9-]*", name):
        if name not in scene_names():
            known = ", ".join(scene_names())
            raise PlannerError(f"there is no rescue scene {name!r}; there are {known}")
        return read_model(_folder() / f"{name}.yaml", Scene)
    return read_model(Path(name), Scene)


def _folder() -> Path:
    return config_dir() / "rescue" / "scenes"
