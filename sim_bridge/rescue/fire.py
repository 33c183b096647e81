"""Fires: cells that burn, get hotter, light their neighbours, and are put out (LLAMAR-A3)."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum

from sim_bridge.rescue.grid import Cell, away, block

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
        self,
        name: str,
        kind: FireKind,
        cells: Iterable[Cell],
        lit: Sequence[Cell],
        radius: float,
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
