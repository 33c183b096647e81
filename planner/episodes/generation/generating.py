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
from planner.episodes.generation.drawing import NoProposalError
from planner.episodes.generation.proposals import propose
from planner.episodes.generation.reading_check import misreading
from planner.episodes.lint.arguments import Solve
from planner.episodes.lint.linting import Linter
from planner.episodes.recipes.build import RecipeError, UnattainableError, build
from planner.episodes.recipes.file import Recipe
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
    """

    houses: Sequence[House]
    kinds: Sequence[TaskType]
    count: int
    seed: int
    split: Split | None = None
    solve: Solve | None = None


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
            try:
                proposal = propose(self._house, kind, name, _seed(order.seed, number, attempt))
                result.episode = self._passed(proposal)
            except NoProposalError:
                result.rejected["the house lacks what was drawn"] += 1
            except _RejectedError as rejected:
                result.rejected[str(rejected)] += 1
            else:
                break
        return result

    def _passed(self, proposal: Recipe) -> Episode:
        """The episode of a proposal.

        Raises:
            _RejectedError: with the reason.
        """
        try:
            episode = build(proposal, self._house).episode
        except UnattainableError:
            raise _RejectedError("no room for the goal") from None
        except RecipeError:
            raise _RejectedError("no room for the start") from None
        if self._order.split is not None:
            episode = episode.model_copy(update={"split": self._order.split})
        if reason := misreading(episode, self._house):
            raise _RejectedError(reason)
        path = write_episode(episode, self._folder)
        report = self._linter.lint(path)
        if report.findings:
            raise _RejectedError(f"lint: {report.findings[0].rule}")
        if self._order.solve is not None and self._order.solve(path):
            raise _RejectedError("not solved by the expert")
        path.unlink()
        return episode


class _RejectedError(PlannerError):
    """A candidate that did not pass, and why in a few words."""


def _seed(seed: int, number: int, attempt: int) -> int:
    text = f"{seed}/{number}/{attempt}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1
