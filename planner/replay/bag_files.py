"""The files of a bag, each opened by the reader for its format.

Only regular files count. Nothing in metadata.yaml is used as a path: a bag's files are those in its
folder, in the order of their first messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from planner.replay.mcap_file import McapFile
from planner.replay.storage import Storage
from planner.world.errors import FileError

# Our recorder's bags are readable without metadata.yaml.
OUR_LIBRARY = "planner"
_PACKED = ".zstd"
SUFFIXES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")


def files_of(bag: Path) -> list[Path]:
    """The files with messages in a folder, ordered by number; [] = no bag.

    Raises:
        FileError: if the folder cannot be read.
    """
    if not bag.is_dir():
        return []
    try:
        found = [f for f in bag.iterdir() if f.name.endswith(SUFFIXES) and f.is_file()]
    except OSError as error:
        raise FileError(bag, "", f"cannot be read: {error.strerror or error}") from None
    names = {file.name for file in found}
    # Next to a decompressed file, the compressed one is a copy.
    kept = [file for file in found if file.name.removesuffix(_PACKED) not in names - {file.name}]
    return sorted(kept, key=_by_number)


def _by_number(path: Path) -> tuple[int, str]:
    number = re.search(r"_([0-9]{1,9})\.", path.name)
    return int(number[1]) if number else 0, path.name


def mcap_files(bag: Path) -> list[Path]:
    """The .mcap files of a bag's folder.

    Raises:
        FileError: if it is not a folder, or has no such file.
    """
    if not bag.is_dir():
        raise FileError(bag, "", "is not a bag's folder")
    found = [file for file in files_of(bag) if file.suffix == ".mcap"]
    if not found:
        raise FileError(bag, "", "has no .mcap file")
    return found


def open_files(path: Path) -> Sequence[Storage]:
    """Opens the files of a bag.

    Args:
        path: the bag's folder, or one of its files.

    Raises:
        FileError: if there is no readable bag.
    """
    if path.is_file() and path.name.endswith(SUFFIXES):
        folder, paths = path.parent, [path]
    else:
        folder, paths = path, files_of(path)
    if not paths:
        what = f"has no bag files ({', '.join(SUFFIXES)})"
        raise FileError(path, "", what if path.is_dir() else "is not a bag's folder")
    if len({_format(file) for file in paths}) > 1:
        raise FileError(path, "", "has both .mcap and .db3 files: it is not one bag")
    opened = [_open(file) for file in paths]
    if all(file.library == OUR_LIBRARY for file in opened):
        return opened
    return sorted(_described(folder, opened), key=lambda file: file.start_ns)


def _format(path: Path) -> str:
    return Path(path.name.removesuffix(_PACKED)).suffix


def _open(path: Path) -> Storage:
    if path.suffix == ".mcap":
        return McapFile(path)
    # Not needed for our own bags.
    from planner.replay.foreign import SqliteFile, UnpackedFile

    reader = McapFile if _format(path) == ".mcap" else SqliteFile
    return UnpackedFile(path, reader) if path.suffix == _PACKED else reader(path)


def _described(folder: Path, files: Sequence[Storage]) -> list[Storage]:
    from planner.replay.foreign import PackedMessages, read_description, with_standard_definitions

    said = read_description(folder)
    complete = [with_standard_definitions(file, said.ros_distro) for file in files]
    return [PackedMessages(file) for file in complete] if said.packs_messages else complete
