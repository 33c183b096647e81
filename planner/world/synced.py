"""What survives a power cut: contents and names of files, each once they were synchronised."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def make_folder(folder: Path, *, exist_ok: bool) -> None:
    """Creates a folder and those above it.

    Raises:
        OSError: if one cannot be created, or it exists and must not.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=exist_ok)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Brings a folder's list of files to the disk: their names would not survive a power cut.

    Raises:
        OSError: if that fails.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_synced(path: Path, text: str) -> None:
    """Replaces a file's text, so that even after a power cut it is the old or the new one.

    Raises:
        OSError: if it cannot be written; the old one stays.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
