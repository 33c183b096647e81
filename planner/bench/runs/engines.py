"""Engines that run the episodes: one process, a pool of processes, or Ray.

An engine passes each outcome to `take` in the caller's process, in order of completion. Only the
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
    """The available engines."""

    ONE_PROCESS = "one_process"
    POOL = "pool"
    RAY = "ray"


class Engine(Protocol):
    """Runs jobs."""

    def run(self, jobs: JobSource, take: Take) -> None:
        """Runs all jobs; an exception from `take` ends the engine and propagates.

        Raises:
            PlannerError: if no episode at all could be run.
            KeyboardInterrupt: after Ctrl-C; running episodes are abandoned.
        """


class OneProcess:
    """Runs episodes in this process; several concurrently if they wait for a model."""

    def __init__(self, settings: RunSettings, at_once: int = 1) -> None:
        """`at_once` episodes run concurrently: while one waits for its model, others continue."""
        self._settings, self._at_once = settings, at_once

    def run(self, jobs: JobSource, take: Take) -> None:
        """See `Engine`. The first Ctrl-C lets the current episode finish, the second does not."""
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
                # Lets a Ctrl-C arrive between two episodes.
                await asyncio.sleep(0)
        finally:
            worker.close()


class _SharedJobs:
    """A source for concurrent episodes in one process, all in the same house if possible."""

    def __init__(self, source: JobSource) -> None:
        self._source = source
        self._house = ""
        self._running = 0
        self._changed = asyncio.Event()

    async def next(self) -> Job | None:
        """Waits for the next job; None if there will be no more."""
        while (job := self._source.next(self._house)) is None:
            if not self._running:
                return None
            self._changed.clear()
            await self._changed.wait()
        self._house = job.house
        self._running += 1
        return job

    def note(self, row: Row) -> None:
        """Wakes waiting slots, since an outcome may produce jobs."""
        self._running -= 1
        self._source.note(row)
        self._changed.set()
