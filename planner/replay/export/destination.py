"""Where an export goes: whole or not at all, never over something else, never into a bag."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.world.errors import PlannerError


def check_outside(path: Path, bags: Sequence[Path]) -> None:
    """Refuses a destination that is a bag, lies in one or holds one.

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
    """Gives a temporary name beside `path`, which becomes `path` when all went well.

    Raises:
        PlannerError: if `path` exists and `force` is not set, or the disk does not take it.
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
    """Gives a new folder beside `path`, which becomes `path` when all went well.

    Args:
        path: of the folder to make.
        marker: a file that every export of this format has: `force` replaces nothing else.
        force: whether an earlier export of the same format is replaced.

    Raises:
        PlannerError: if `path` exists and may not be replaced, or the disk does not take it.
    """
    if path.exists() and not force:
        raise PlannerError(f"{path}: exists already; --force replaces it")
    if path.exists() and not (path / marker).is_file():
        raise PlannerError(f"{path}: is no export of this format (no {marker}): not replaced")
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
    """Refuses where a library of an optional extra is missing.

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
    # The process's number: two exports to one place do not write into each other.
    return path.with_name(f".{path.name}.{word}-{os.getpid()}{path.suffix}")
