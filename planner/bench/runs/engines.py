"""How the episodes of a run are carried out: one process, a pool of processes, or Ray.

An engine gives each outcome to `take` in the caller's process as it comes, in any order. Only the
caller writes files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeAlias

from planner.bench.runs.job_queue import JobSource
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Row
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import EpisodeWorker, Outcome

Take: TypeAlias = Callable[[Outcome], None]


class EngineKind(StrEnum):
    """Which engine."""

    ONE_PROCESS = "one_process"
    POOL = "pool"
    RAY = "ray"


class Engine(Protocol):
    """Carries out jobs."""

    def run(self, jobs: JobSource, take: Take) -> None:
        """Carries out all jobs; whatever `take` raises ends the engine and comes out.

        Raises:
            PlannerError: if no episode at all could be run.
            KeyboardInterrupt: after Ctrl-C; what was under way is given up.
        """


class OneProcess:
    """Episodes in this process; several at once where a model is what they wait for."""

    def __init__(self, settings: RunSettings, at_once: int = 1) -> None:
        """`at_once` episodes take turns: while one waits for its model the others go on."""
        self._settings, self._at_once = settings, at_once

    def run(self, jobs: JobSource, take: Take) -> None:
        """As `Engine`. The first Ctrl-C lets the episode in hand end, the second does not."""
        with asyncio.Runner() as runner:
            runner.run(self._all(jobs, take))

    async def _all(self, jobs: JobSource, take: Take) -> None:
        models = Models(self._settings)
        shared = _SharedJobs(jobs)
        try:
            slots = [self._slot(models, shared, take) for _ in range(self._at_once)]
            if len(slots) == 1:
                await slots[0]
                return
            try:
                async with asyncio.TaskGroup() as group:
                    for slot in slots:
                        group.create_task(slot)
            except BaseExceptionGroup as errors:
                raise errors.exceptions[0] from None
        finally:
            await models.close()

    async def _slot(self, models: Models, jobs: _SharedJobs, take: Take) -> None:
        worker = EpisodeWorker(self._settings, models)
        try:
            while (job := await jobs.next()) is not None:
                outcome = await worker.play(job)
                jobs.note(outcome.row)
                take(outcome)
                # Here a Ctrl-C arrives, between two episodes.
                await asyncio.sleep(0)
        finally:
            worker.close()


class _SharedJobs:
    """A source for several slots of one process, all in the same house as long as it has jobs."""

    def __init__(self, source: JobSource) -> None:
        self._source = source
        self._house = ""
        self._running = 0
        self._changed = asyncio.Event()

    async def next(self) -> Job | None:
        """The next job, once there is one; None if none can come any more."""
        while (job := self._source.next(self._house)) is None:
            if not self._running:
                return None
            self._changed.clear()
            await self._changed.wait()
        self._house = job.house
        self._running += 1
        return job

    def note(self, row: Row) -> None:
        """Lets the slots that wait ask again."""
        self._running -= 1
        self._source.note(row)
        self._changed.set()
