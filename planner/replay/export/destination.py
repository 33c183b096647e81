"""The destination of an export: written atomically, never over other files, never into a bag."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.world.errors import PlannerError


def check_outside(path: Path, bags: Sequence[Path]) -> None:
    """Rejects a destination that is a bag, lies in one or contains one.

    Raises:
        PlannerError: naming the bag.
    """
    place = path.resolve()
    for bag in bags:
        folder = bag.resolve()
        if place == folder or folder in place.parents or place in folder.parents:
            raise PlannerError(f"{path}: lies in the bag {bag} or holds it; name another place, -o")


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which is renamed to `path` on success.

    Raises:
        PlannerError: if `path` exists and `force` is not set, or the file system refuses.
    """
    if path.is_dir():
        raise PlannerError(f"{path}: is a folder; this format writes a file")
    if path.exists() and not force:
        raise PlannerError(f"{path}: exists already; --force replaces it")
    temporary = _temporary(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise PlannerError(f"{path}: cannot be written: {error}") from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, *, marker: str, force: bool) -> Iterator[Path]:
    """Yields a temporary folder beside `path`, which is renamed to `path` on success.

    Args:
        path: of the new folder.
        marker: a file that every export of this format has: `force` replaces nothing else.
        force: whether an earlier export of the same format is replaced.

    Raises:
        PlannerError: if `path` exists and may not be replaced, or the file system refuses.
    """
    if path.exists() and not force:
        raise PlannerError(f"{path}: exists already; --force replaces it")
    if path.exists() and not (path / marker).is_file():
        raise PlannerError(f"{path}: is not an export of this format (no {marker}): not replaced")
    temporary, old = _temporary(path), _temporary(path, "old")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if path.exists():
            path.rename(old)
        temporary.rename(path)
    except OSError as error:
        if old.exists() and not path.exists():
            old.rename(path)
        raise PlannerError(f"{path}: cannot be written: {error}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)


def require_extra(extra: str, *modules: str) -> None:
    """Checks that the libraries of an optional extra are installed.

    Raises:
        PlannerError: naming the library and how to get it.
    """
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError:
            reason = f"needs the Python package {name}: pip install 'planner[{extra}]'"
            raise PlannerError(f"this export {reason}") from None


def _temporary(path: Path, word: str = "partial") -> Path:
    # With the process id, so that parallel exports do not share a temporary path.
    return path.with_name(f".{path.name}.{word}-{os.getpid()}{path.suffix}")
