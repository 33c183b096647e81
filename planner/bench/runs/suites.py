"""Suites: which episodes a benchmark runs, and with which seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from planner.episodes.episode_file import episodes_in
from planner.episodes.pack import opened
from planner.parts.kinds import SUITES
from planner.planning.learned.tokens import check_classes, names_any, read_tokens
from planner.world.episode import MAX_SEED, Episode
from planner.world.errors import PlannerError
from planner.world.files import read_bytes
from planner.world.nearest import did_you_mean
from planner.world.share import config_dir


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
    names = [entry.episode_id for entry in found]
    twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if twice is not None:
        raise PlannerError(f"the suite {name} has two episodes {twice}")
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
