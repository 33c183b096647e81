"""The record of a file format of others in which houses are written or from which they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.files import writing
from planner.world.house import House

INTERFACE = 1


@dataclass(frozen=True, slots=True)
class ReadHouse:
    """A house that was read.

    Attributes:
        house: what was read of the scene.
        left_out: one sentence for each thing that could not be read.
        storey: its number in the scene, 0 the lowest.
        storeys: how many the scene has.
    """

    house: House
    left_out: tuple[str, ...]
    storey: int
    storeys: int


class HouseSource(Protocol):
    """A downloaded data set of scenes."""

    @property
    def scenes(self) -> Sequence[str]:
        """The names of all scenes."""

    def read(self, scene: str, storey: int | None) -> ReadHouse:
        """Reads a storey of a scene; None = the one with most floor.

        Raises:
            FileError: naming the file, the field and the reason.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseFormat:
    """The record of a format.

    Attributes:
        summary: what its files are, in a few words.
        write: writes a house into a folder, with the data set that it was read from if given;
            returns what it wrote. None = it is only read.
        takes_scenes: whether `write` shows the meshes of such a data set.
        read: opens a downloaded data set; raises `PlannerError` where it is none. None = it is
            only written.
        options: none.
        interface: version of this record that the format was written for.
    """

    summary: str
    write: Callable[[House, Path, Path | None], str] | None = None
    takes_scenes: bool = False
    read: Callable[[Path], HouseSource] | None = None
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


HOUSE_FORMATS: Catalog[HouseFormat] = Catalog(
    "house format", "", "", f"{__name__}:HouseFormat", INTERFACE, group="planner.house_formats"
)


# What the commands of houses print, and how they write files.


def summary(house: House) -> str:
    """The size of a house in a few words."""
    area = sum(room.shape.area for room in house.rooms)
    return (
        f"{len(house.rooms)} rooms, {area:.0f} m2, {len(house.furniture)} pieces of furniture, "
        f"{len(house.objects)} things"
    )


def write_or_refuse(path: Path, write: Callable[[Path], object]) -> None:
    """Writes a file.

    Raises:
        FileError: if it cannot be written.
    """
    with writing(path):
        write(path)
