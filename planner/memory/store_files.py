"""Names of memories' files, and that a file is one before it is opened, replaced or removed.

Who may call `/memory/save` may not thereby write all over the machine: a name is that of a file in
the memory's own folder, unless the operator opened others. Files of others are left as they are.
"""

from __future__ import annotations

import os
from pathlib import Path

from planner.world.errors import FileError, PlannerError
from planner.world.files import open_regular

SUFFIX = ".sqlite"
# SQLite's files beside a database that is in use, or that a killed process left.
JOURNALS = ("-wal", "-shm", "-journal")
# "EPM1": tells a memory from any other SQLite file.
APPLICATION_ID = 0x45504D31
# A million changes leave a file of 4 MB, as only the last ones are kept.
MAX_STORE_BYTES = 1 << 28
# File systems allow 255; SQLite's journals add to the name.
MAX_NAME_BYTES = 240
_MAGIC = b"SQLite format 3\0"
# Where SQLite's header has the application's number.
_APPLICATION = slice(68, 72)
_SHOWN_CHARS = 80


class StoreError(PlannerError):
    """A store that cannot be used or written; its text names the file and the reason."""


def named_file(name: str, folder: Path | None, *, anywhere: bool = False) -> Path:
    """The file that somebody names, without following links out of the folder.

    Args:
        name: untrusted: a file of the folder, or the path of one in it.
        folder: of the memory's files; None = there is none.
        anywhere: whether absolute paths of other folders are allowed too.

    Raises:
        StoreError: in one sentence, for any other name.
    """
    shown = repr(name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "...")
    path = Path(name)
    if problem := _problem(path):
        raise StoreError(f"{shown}: {problem}")
    if folder is None and not (anywhere and path.is_absolute()):
        if anywhere:
            raise StoreError(f"{shown}: this memory has no folder; name an absolute path")
        raise StoreError(f"{shown}: this memory has no folder (parameter store) for files")
    wanted = path if folder is None else folder / path
    try:
        if wanted.is_symlink():
            raise StoreError(f"{shown}: is a link, which is not followed")
        # Links in the way to the folder itself are the operator's.
        home = None if folder is None else folder.resolve()
        resolved = wanted.parent.resolve() / wanted.name
    except (OSError, RuntimeError, ValueError) as error:
        raise StoreError(f"{shown}: cannot be used: {_reason(error)}") from None
    if not anywhere and (home is None or not resolved.is_relative_to(home)):
        raise StoreError(
            f"{shown}: is not in the memory's folder {folder}; the operator may allow other "
            "folders by the parameter files_anywhere"
        )
    return wanted


def _problem(path: Path) -> str:
    """Why no memory's file may be named so; "" if it may."""
    try:
        sizes = [len(os.fsencode(part)) for part in path.parts]
    except UnicodeEncodeError:
        return "is not a name that a file can have"
    if "\0" in str(path):
        return "has a NUL character"
    if max(sizes, default=0) > MAX_NAME_BYTES or sum(sizes) + len(sizes) > 4000:
        return f"is too long; a name may have {MAX_NAME_BYTES} bytes"
    if ".." in path.parts:
        return "goes up by '..'"
    if path.suffix != SUFFIX:
        return f"is not the name of a memory's file, which ends in {SUFFIX}"
    return ""


def require_memory(path: Path) -> None:
    """Looks into a file without changing it.

    Raises:
        StoreError: where it is missing, or not a memory's file.
    """
    try:
        with open_regular(path) as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(100)
    except FileError as error:
        raise StoreError(str(error)) from None
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {_reason(error)}") from None
    if not head:
        raise StoreError(f"{path}: is empty")
    if not head.startswith(_MAGIC):
        raise StoreError(f"{path}: file is not a database")
    if int.from_bytes(head[_APPLICATION], "big") != APPLICATION_ID:
        raise StoreError(f"{path}: is an SQLite database, but not a memory store")
    if size > MAX_STORE_BYTES:
        raise StoreError(f"{path}: is larger than {MAX_STORE_BYTES} bytes")


def require_replaceable(path: Path) -> None:
    """Refuses to replace what is not a memory's file, or is in use.

    Raises:
        StoreError: where a file is foreign, or has journals beside it.
    """
    for suffix in JOURNALS:
        beside = path.with_name(path.name + suffix)
        if os.path.lexists(beside):
            raise StoreError(f"{path}: is in use, or was left by a killed process: {beside.name}")
    if os.path.lexists(path):
        require_memory(path)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
