"""A run's directory, the suite of episodes that it runs, and `planner bench show RUN`."""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import platform
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Literal

from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.table import summarise, summary_lines
from planner.bench.suite import SUITES
from planner.episodes.episode_file import episodes_in, opened, write_text
from planner.planning.learned.tokens import check_classes, names_any, read_tokens
from planner.world.episode import MAX_SEED, Episode
from planner.world.errors import FileError, PlannerError, did_you_mean
from planner.world.files import FileModel, read_bytes, read_versioned, writing
from planner.world.share import config_dir

# Suites: which episodes a benchmark runs, and with which seeds.


@dataclass(frozen=True, slots=True)
class SuiteEpisode:
    """An episode file: name, house, seed, instruction and a short hash."""

    path: Path
    episode_id: str
    house: str
    seed: int
    instruction: str
    digest: str


@dataclass(frozen=True, slots=True)
class Job:
    """One episode with one seed; with the episode's id it identifies the row."""

    path: Path
    episode_id: str
    house: str
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """Unique within the run."""
        return self.episode_id, self.seed


def naming(
    suite: tuple[SuiteEpisode, ...], classes: Collection[str], *, named: bool = True
) -> tuple[SuiteEpisode, ...]:
    """The episodes whose instruction has a noun that may mean things of any of the classes.

    Without `named`, those whose instruction has none.

    Raises:
        PlannerError: for a class that the catalogue does not have, or if no episode is left.
    """
    check_classes(classes)
    found = tuple(e for e in suite if names_any(read_tokens(e.instruction), classes) is named)
    if not found:
        listed = ", ".join(sorted(classes))
        which = (
            "no instruction of the suite names" if named else "all instructions of the suite name"
        )
        raise PlannerError(f"{which} {listed}")
    return found


def find_suite(name: str) -> tuple[SuiteEpisode, ...]:
    """The episodes of a suite, in order of path.

    Args:
        name: in the catalog of suites (`all`, `train`, `heldout`), a shipped episode's name, or
            the path of a folder or file.

    Raises:
        PlannerError: if there is no such suite, or it has no episode that can be judged.
        FileError: for the first episode that cannot be read.
    """
    found = []
    for path, episode in episodes_in(suite_places(name)):
        if not isinstance(episode, Episode):
            raise episode
        if episode.evaluation is None and episode.criteria is None:
            raise PlannerError(f"{path}: has no evaluation, so nothing can be judged")
        digest = hashlib.sha256(read_bytes(path)).hexdigest()[:16]
        found.append(
            SuiteEpisode(
                path, episode.episode_id, episode.house, episode.seed, episode.instruction, digest
            )
        )
    if not found:
        raise PlannerError(f"the suite {name} has no episodes")
    ((commonest, times),) = Counter(entry.episode_id for entry in found).most_common(1)
    if times > 1:
        raise PlannerError(f"the suite {name} has two episodes {commonest}")
    return tuple(found)


def drawn(suite: Sequence[SuiteEpisode], count: int, seed: int) -> tuple[SuiteEpisode, ...]:
    """`count` episodes of a suite, drawn at random without repeats; 0 = all. In order of path.

    Raises:
        PlannerError: if the suite has fewer.
    """
    if count > len(suite):
        raise PlannerError(f"{count} episodes are asked for, and the suite has {len(suite)}")
    if not count:
        return tuple(suite)
    chosen = sorted(Random(seed).sample(range(len(suite)), count))
    return tuple(suite[place] for place in chosen)


def suite_places(name: str, others: Iterable[str] = ()) -> list[Path]:
    """The folders or the file of a suite; its name as in `find_suite`.

    Args:
        name: of the suite.
        others: further valid names, to be suggested.

    Raises:
        PlannerError: if there is no such suite.
    """
    known = SUITES.names()
    if name in known:
        return list(SUITES.get(name).places())
    path = Path(name)
    if path.exists():
        return [opened(path)]
    files = {found.stem: found for found in (config_dir() / "episodes").rglob("*.json")}
    if name in files:
        return [files[name]]
    raise PlannerError(
        f"there is no suite {name!r}: name {', '.join(known)}, a shipped episode, "
        f"or a folder or file of episodes{did_you_mean(name, [*known, *files, *others])}"
    )


def jobs_of(suite: Sequence[SuiteEpisode], episodes: int, seed: int) -> tuple[Job, ...]:
    """`episodes` jobs: each episode once, then again with the next seeds; 0 = each once.

    Sorted by house, so that each house is prepared once. After the largest seed comes 0.
    """
    count = episodes or len(suite)
    chosen = []
    for number in range(count):
        entry = suite[number % len(suite)]
        run = (entry.seed + seed + number // len(suite)) % (MAX_SEED + 1)
        chosen.append(Job(entry.path, entry.episode_id, entry.house, run))
    return tuple(sorted(chosen, key=lambda job: (job.house, job.episode_id, job.seed)))


def suite_digest(suite: Sequence[SuiteEpisode]) -> str:
    """A hash over all episodes."""
    text = "\n".join(f"{entry.episode_id} {entry.digest}" for entry in suite)
    return hashlib.sha256(text.encode()).hexdigest()


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
    with writing(folder):
        if folder.is_dir() and not path.exists() and _unknown_entries(folder):
            raise FileError(folder, "", f"is not a run: it has files but no {MANIFEST_NAME}")
        (folder / TRACES_NAME).mkdir(parents=True, exist_ok=True)
        lock = (folder / _LOCK_NAME).open("w")
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


# `planner bench show RUN`: the table of a run, also of one in progress.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("run_folder", type=Path, metavar="RUN", help="a run's directory")
    parser.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    """Prints the table."""
    manifest = read_manifest(args.run_folder)
    rows = newest_rows(args.run_folder / ROWS_NAME).values()
    summary = summarise(rows)
    if args.json:
        document = {"manifest": manifest.model_dump(mode="json"), "summary": asdict(summary)}
        print(json.dumps(document, indent=2))
        return 0
    settings = manifest.settings.model_dump(mode="json", exclude_defaults=True)
    words = [f"planner {manifest.settings.planner}"]
    words += [f"{name} {value}" for name, value in settings.items() if name != "planner"]
    version = f" (version {manifest.suite_version})" if manifest.suite_version else ""
    print(f"{manifest.suite}{version}: {', '.join(words)}")
    if len(rows) < manifest.episodes:
        print(f"{manifest.episodes - len(rows)} of {manifest.episodes} episodes are not done yet")
    print("\n".join(summary_lines(summary)))
    return 0
