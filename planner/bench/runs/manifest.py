"""A run's directory: `manifest.json`, `rows.jsonl`, `traces/`; one process writes it at a time."""

from __future__ import annotations

import fcntl
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from planner.bench.runs.rows import ROWS_NAME
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import SuiteEpisode, suite_digest
from planner.episodes.episode_file import write_text
from planner.parts.kinds import SUITES
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel
from planner.world.versions import read_versioned

MANIFEST_VERSION = 1
MANIFEST_NAME, TRACES_NAME, _LOCK_NAME = "manifest.json", "traces", ".lock"
_PACKAGES = ("planner", "numpy", "mujoco", "scipy", "shapely", "pydantic", "openai")


class Manifest(FileModel):
    """The definition of a run, fixed when it is started.

    Attributes:
        suite: its name; `digest` is the hash of its episodes.
        suite_version: of a named suite; 0 of others, and in manifests from before there were any.
        episodes: number of episodes to run, including repeats.
    """

    version: Literal[1] = 1
    suite: str
    suite_version: int = 0
    digest: str
    episodes: int
    settings: RunSettings
    versions: dict[str, str]


def new_manifest(
    suite: str, entries: Sequence[SuiteEpisode], episodes: int, settings: RunSettings
) -> Manifest:
    """The manifest of a run that starts now."""
    return Manifest(
        suite=suite,
        suite_version=SUITES.get(suite).version if suite in SUITES.names() else 0,
        digest=suite_digest(entries),
        episodes=episodes,
        settings=settings,
        versions=dict(versions()),
    )


@cache
def versions() -> Mapping[str, str]:
    """The versions of Python and of packages that may affect results."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest from a run's directory.

    Raises:
        FileError: if it is missing or invalid.
    """
    return read_versioned(folder / MANIFEST_NAME, Manifest, MANIFEST_VERSION)


@contextmanager
def open_run(folder: Path, manifest: Manifest) -> Iterator[bool]:
    """Creates or resumes a run's directory; yields whether it existed.

    Raises:
        PlannerError: if another process is writing it.
        FileError: if its settings differ, it is not a run, or it cannot be written.
    """
    path = folder / MANIFEST_NAME
    try:
        if folder.is_dir() and not path.exists() and _unknown_entries(folder):
            raise FileError(folder, "", f"is not a run: it has files but no {MANIFEST_NAME}")
        (folder / TRACES_NAME).mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK_NAME).open("w")
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PlannerError(f"{folder}: another process is running it") from None
        resumed = path.exists()
        if resumed:
            _check_same(path, read_manifest(folder), manifest)
        else:
            write_text(path, manifest.model_dump_json(indent=2) + "\n")
        yield resumed


def _unknown_entries(folder: Path) -> bool:
    known = {TRACES_NAME, _LOCK_NAME, ROWS_NAME}
    return any(path.name not in known for path in folder.iterdir())


def _check_same(path: Path, old: Manifest, new: Manifest) -> None:
    if old.suite != new.suite:
        raise _mismatch(path, "suite", old.suite, new.suite)
    if old.digest != new.digest:
        raise FileError(path, "digest", f"the suite's episodes have changed; {_ADVICE}")
    if old.episodes != new.episodes:
        raise _mismatch(path, "episodes", old.episodes, new.episodes)
    before, after = old.settings.model_dump(mode="json"), new.settings.model_dump(mode="json")
    for name, value in before.items():
        if after[name] != value:
            raise _mismatch(path, f"settings.{name}", value, after[name])


_ADVICE = "resume with the same settings, or give another --out"


def _mismatch(path: Path, field: str, old: object, new: object) -> FileError:
    return FileError(path, field, f"is {old!r}, not {new!r}: {_ADVICE}")
