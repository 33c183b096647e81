"""What the commands of houses print, and how they write files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from planner.world.errors import FileError
from planner.world.house import House


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
    try:
        write(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
