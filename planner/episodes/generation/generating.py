"""Generates episodes: propose, place, read, lint, solve; what fails is counted."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Literal

from planner.episodes.episode_file import write_episode
from planner.episodes.generation.arguments import TaskType
from planner.episodes.generation.candidates import Candidates, GrammarCandidates, RejectedError
from planner.episodes.lint.arguments import Solve
from planner.episodes.lint.linting import Linter
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House, write_house

# Of one episode; a house that is too small for a type fails every time.
MAX_ATTEMPTS = 60

Split = Literal["train", "val", "test", "none"]


@dataclass(frozen=True, slots=True)
class Order:
    """What to generate.

    Attributes:
        houses: used in turn.
        kinds: used in turn.
        count: of episodes.
        seed: of everything.
        split: of the episodes; None: that of each house.
        solve: runs a planner on an episode's file and returns why it failed, or ""; None: none is
            run. It must be a function of a module if there are several processes.
        candidates: where they come from.
    """

    houses: Sequence[House]
    kinds: Sequence[TaskType]
    count: int
    seed: int
    split: Split | None = None
    solve: Solve | None = None
    candidates: Candidates = field(default_factory=GrammarCandidates)


@dataclass
class Made:
    """One episode, or None where nothing passed, and how often what was the reason to reject."""

    number: int
    episode: Episode | None
    rejected: Counter[str] = field(default_factory=Counter)


def generate(order: Order, jobs: int = 1, done: Container[int] = ()) -> Iterator[Made]:
    """Generates episodes one by one; equal orders give equal episodes, with any number of jobs.

    Each depends on the order and its own number only, and they come house by house, so that the
    geometry of a house is computed once in a process.

    Args:
        order: what to generate.
        jobs: number of processes.
        done: numbers of episodes, from 0, that are left out.

    Raises:
        PlannerError: if a folder for the candidates cannot be made, or a process dies.
    """
    total = len(order.houses)
    numbers = [k for first in range(total) for k in range(first, order.count, total)]
    numbers = [number for number in numbers if number not in done]
    with tempfile.TemporaryDirectory() as name:
        if jobs == 1:
            yield from map(_Makers(order, Path(name)).made, numbers)
            return
        processes = ProcessPoolExecutor(
            jobs, initializer=_begin_worker, initargs=(order, Path(name))
        )
        try:
            yield from processes.map(_made_in_worker, numbers)
        except BrokenProcessPool:
            raise PlannerError("a process died; the same command goes on") from None
        finally:
            processes.shutdown(cancel_futures=True)


class _Makers:
    """The maker of whichever house is in use."""

    def __init__(self, order: Order, folder: Path) -> None:
        self._order = order
        self._folder = folder
        self._current: tuple[int, _Maker] | None = None

    def made(self, number: int) -> Made:
        index = number % len(self._order.houses)
        if self._current is None or self._current[0] != index:
            self._current = index, self._maker(self._order.houses[index])
        return self._current[1].made(number)

    def _maker(self, house: House) -> _Maker:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        (folder / "houses").mkdir()
        write_house(house, folder / "houses" / f"{house.name}.json")
        return _Maker(self._order, house, folder)


# In a process of the pool: its only entry.
_in_worker: list[_Makers] = []


def _begin_worker(order: Order, folder: Path) -> None:
    # The parent ends the pool after Ctrl-C, and its end is noticed where it is killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _in_worker.append(_Makers(order, folder))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _made_in_worker(number: int) -> Made:
    (makers,) = _in_worker
    return makers.made(number)


class _Maker:
    """Makes the episodes of one house."""

    def __init__(self, order: Order, house: House, folder: Path) -> None:
        self._order = order
        self._house = house
        self._folder = folder
        self._linter = Linter()

    def made(self, number: int) -> Made:
        """The episode of a number: the first attempt that passes everything."""
        order = self._order
        turn = sum(divmod(number, len(order.houses)))
        kind = order.kinds[turn % len(order.kinds)]
        name = f"{kind}_{order.seed}_{number}"
        result = Made(number, None)
        for attempt in range(MAX_ATTEMPTS):
            seed = _seed(order.seed, number, attempt)
            try:
                episode = order.candidates.next(self._house, kind, name, seed)
                result.episode = self._passed(episode)
            except RejectedError as rejected:
                result.rejected[str(rejected)] += 1
            else:
                break
        return result

    def _passed(self, episode: Episode) -> Episode:
        """The episode, in the split that was asked for.

        Raises:
            RejectedError: with the reason.
        """
        if self._order.split is not None:
            episode = episode.model_copy(update={"split": self._order.split})
        path = write_episode(episode, self._folder)
        report = self._linter.lint(path)
        if report.findings:
            raise RejectedError(f"lint: {report.findings[0].rule}")
        if self._order.solve is not None and self._order.solve(path):
            raise RejectedError("not solved by the expert")
        path.unlink()
        return episode


def _seed(seed: int, number: int, attempt: int) -> int:
    text = f"{seed}/{number}/{attempt}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1
