"""Where engines get their jobs: a fixed list, or a source that reacts to outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from planner.bench.runs.rows import Row
from planner.bench.runs.suites import Job


class JobSource(Protocol):
    """Yields jobs one at a time; the next one may depend on earlier outcomes.

    Engines request a job whenever a worker is free, and again after each outcome. A run is over
    when nothing is running and there is no job.
    """

    @property
    def total(self) -> int:
        """The number of jobs, as far as known."""

    def next(self, house: str = "") -> Job | None:
        """The next job, preferably in the worker's last house; None = nothing to do now."""

    def note(self, row: Row) -> None:
        """Reports the outcome of a job, before any further `next`."""


class JobQueue:
    """A fixed list of jobs.

    Each worker prepares a house (floor, visibility, paths) when it runs an episode there. So a
    worker stays in its house while there are jobs, then takes a house that no worker has started,
    and otherwise the one with the most remaining jobs.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        """Houses, and the jobs of each, are started in this order."""
        self._left: dict[str, deque[Job]] = {}
        for job in jobs:
            self._left.setdefault(job.house, deque()).append(job)
        self._begun: set[str] = set()
        self.total = len(self)

    def __len__(self) -> int:
        """The number of remaining jobs."""
        return sum(map(len, self._left.values()))

    def next(self, house: str = "") -> Job | None:
        """The next job, preferably in the worker's last house; None if none are left."""
        if not self._left:
            return None
        if house not in self._left:
            fresh = (name for name in self._left if name not in self._begun)
            house = next(fresh, "") or max(self._left, key=lambda name: len(self._left[name]))
        self._begun.add(house)
        jobs = self._left[house]
        job = jobs.popleft()
        if not jobs:
            del self._left[house]
        return job

    def note(self, row: Row) -> None:
        """Does nothing: the list does not depend on outcomes."""
