"""Generates episodes: propose, place, read, lint, solve; what fails is counted."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal

from planner.episodes.episode_file import write_episode
from planner.episodes.generation.arguments import TaskType
from planner.episodes.generation.candidates import Candidates, GrammarCandidates, RejectedError
from planner.episodes.lint.arguments import Solve
from planner.episodes.lint.linting import Linter
from planner.world.episode import Episode
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

    episode: Episode | None
    rejected: Counter[str] = field(default_factory=Counter)


def generate(order: Order, jobs: int = 1) -> Iterator[Made]:
    """Generates episodes one by one; equal orders give equal episodes, with any number of jobs.

    Args:
        order: what to generate.
        jobs: number of processes.

    Raises:
        PlannerError: if a folder for the candidates cannot be made.
    """
    pool: AbstractContextManager[ProcessPoolExecutor | None] = (
        ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext()
    )
    # One part for each house, whose geometry is then computed once.
    parts = [(order, k) for k in range(min(order.count, len(order.houses)))]
    with pool as processes:
        run = processes.map if processes is not None else map
        for made in run(_of_house, parts):
            yield from made


def _of_house(part: tuple[Order, int]) -> list[Made]:
    """The episodes of one house: every so many-th of the order."""
    order, first = part
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "houses").mkdir()
        house = order.houses[first]
        write_house(house, folder / "houses" / f"{house.name}.json")
        maker = _Maker(order, house, folder)
        return [maker.made(k) for k in range(first, order.count, len(order.houses))]


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
        result = Made(None)
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
