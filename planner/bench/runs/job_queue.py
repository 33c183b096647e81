"""Where engines get their jobs: a list that is worked off, or a source that reacts to outcomes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from planner.bench.runs.rows import Row
from planner.bench.runs.suites import Job


class JobSource(Protocol):
    """Gives jobs one at a time; the next one may depend on how others ended.

    Engines ask for a job whenever a worker is free, and again after each outcome. A run is over
    when nothing is under way and there is no job.
    """

    @property
    def total(self) -> int:
        """How many jobs there are, as far as known."""

    def next(self, house: str = "") -> Job | None:
        """The next job of a worker that was in a house last; None: nothing to do now."""

    def note(self, row: Row) -> None:
        """Hears how a job ended; comes before any further `next`."""


class JobQueue:
    """Jobs that are left, given out one at a time.

    What is made of a house (its floor, what walls hide, ways) is made by each worker that runs an
    episode there. So a worker stays in its house while that has jobs, then takes the next one that
    nobody has begun; only if there is none it helps where most is left.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        """Takes all jobs; houses and the jobs of each are begun in this order."""
        self._left: dict[str, deque[Job]] = {}
        for job in jobs:
            self._left.setdefault(job.house, deque()).append(job)
        self._begun: set[str] = set()
        self.total = len(self)

    def __len__(self) -> int:
        """How many jobs are left."""
        return sum(map(len, self._left.values()))

    def next(self, house: str = "") -> Job | None:
        """The next job of a worker that was in a house last; None if nothing is left."""
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
        """The jobs are the same however others end."""
