"""`dataset.json`: identifies a dataset's house, so that no wrong or incomplete one is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from planner.world.errors import FileError
from planner.world.files import FileModel, parse_model, read_document
from planner.world.house import House, house_json
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.meshes import write_file

CONTENTS = "dataset.json"
CONTENTS_VERSION = 1
_HOW = "make it anew: planner houses export habitat HOUSE -o DIR"


class Contents(FileModel):
    """The house that a dataset was written from, and its files, relative to this one."""

    version: int
    house: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    files: tuple[str, ...]


def layout_hash(house: House) -> str:
    """A hash of a house without its things, which episodes replace."""
    return hashlib.sha256(house_json(house.layout).encode()).hexdigest()


def write_contents(house: House, directory: Path, files: Iterable[Path]) -> None:
    """Writes it.

    Raises:
        FileError: if it cannot be written.
    """
    names = sorted(file.relative_to(directory).as_posix() for file in files)
    contents = Contents(
        version=CONTENTS_VERSION, house=house.name, sha256=layout_hash(house), files=tuple(names)
    )
    write_file(directory / CONTENTS, configs.json_bytes(contents.model_dump(mode="json")))


def check_contents(directory: Path, house: House) -> None:
    """Checks that a directory has the complete dataset of a house as it is now.

    Raises:
        FileError: naming the file, the field and the reason, in one line.
    """
    if not directory.is_dir():
        raise FileError(directory, "", f"there is no such directory; {_HOW}")
    path = directory / CONTENTS
    if not path.is_file():
        raise FileError(directory, "", f"is not a dataset of ours, it has no {CONTENTS}; {_HOW}")
    document = read_document(path)
    version = document.get("version") if isinstance(document, dict) else None
    if version != CONTENTS_VERSION:
        reason = f"is {version!r}, and this version of planner reads {CONTENTS_VERSION}; {_HOW}"
        raise FileError(path, "version", reason)
    contents = parse_model(document, Contents, path)
    if contents.house != house.name:
        raise FileError(path, "house", f"is {contents.house!r}, not {house.name!r}; {_HOW}")
    if contents.sha256 != layout_hash(house):
        raise FileError(path, "sha256", f"is of another {house.name} than the one given; {_HOW}")
    for index, name in enumerate(contents.files):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise FileError(path, f"files.{index}", f"{name!r} is not within the dataset")
        if not (directory / name).is_file():
            raise FileError(path, f"files.{index}", f"{name} is missing; {_HOW}")
