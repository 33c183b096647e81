"""The scenes, read from config/rescue/scenes/ (LLAMAR-A5)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from sim_bridge.rescue.fire import FireKind, Supply
from sim_bridge.rescue.grid import SIZE, Cell

MAX_AGENTS = 6

Index = Annotated[int, Field(ge=0, lt=SIZE)]
Position = tuple[Index, Index]


def _name(pattern: str) -> object:
    return Field(pattern=pattern)


class FireRecord(FileModel):
    """A fire: its box by the top left cell, width and height, and how many cells burn first."""

    name: Annotated[str, _name(r"^[A-Z][A-Za-z]*Fire$")]
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

    name: Annotated[str, _name(r"^Reservoir[A-Z][A-Za-z]*$")]
    supply: Supply
    cell: Position


class DepositRecord(FileModel):
    """Where people are brought and supplies can be kept."""

    name: Annotated[str, _name(r"^Deposit[A-Z][A-Za-z]*$")]
    cell: Position


class PersonRecord(FileModel):
    """A lost person.

    `find_probability` times the largest distance of a corner of the grid is the distance at which
    the person is spotted; `extra_load` is how many more than two have to carry.
    """

    name: Annotated[str, _name(r"^LostPerson[A-Z][A-Za-z]*$")]
    cell: Position
    find_probability: Annotated[float, Field(gt=0, le=1)] = 0.2
    extra_load: Annotated[int, Field(ge=0, le=MAX_AGENTS - 2)] = 0


class Scene(FileModel):
    """One scene; `starts` are the cells of up to six agents."""

    version: Literal[1] = 1
    name: Annotated[str, _name(r"^[a-z][a-z0-9-]*$")]
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
