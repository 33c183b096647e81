"""Ray: runs episodes on a cluster. Needs the extra `ray`, and the planner on each machine."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from planner.bench.runs.engines import JobSource, Take
from planner.bench.runs.manifest import Job
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Fault
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import EpisodeWorker, failed_row
from planner.bench.runs.worker import Outcome as _Outcome
from planner.world.errors import PlannerError

NEEDS_EXTRA = "the engine ray needs the extra `ray`: pip install -e '.[ray]'"


class RayEngine:
    """A number of single-CPU actors; if one dies, its current episode is lost."""

    def __init__(self, settings: RunSettings, workers: int, address: str = "") -> None:
        """`address` of a cluster's head; "" = a temporary cluster on this machine.

        Raises:
            PlannerError: if the extra is not installed.
        """
        try:
            import ray
        except ImportError:
            raise PlannerError(NEEDS_EXTRA) from None
        self._ray: Any = ray
        self._settings, self._workers, self._address = settings, workers, address

    def run(self, jobs: JobSource, take: Take) -> None:
        """See `planner.bench.runs.engines.Engine`; Ctrl-C abandons running episodes."""
        ray = self._ray
        # Ray reports usage statistics to its developers unless disabled.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            if self._address:
                ray.init(address=self._address, log_to_driver=False)
            else:
                ray.init(num_cpus=self._workers, include_dashboard=False, log_to_driver=False)
        except Exception as error:  # A start that times out raises a plain Exception.
            raise PlannerError(f"ray: no cluster: {error}") from None
        try:
            self._all(jobs, take)
        finally:
            ray.shutdown()

    def _all(self, jobs: JobSource, take: Take) -> None:
        ray = self._ray
        running: dict[Any, tuple[Any, Job]] = {}
        # Idle actors, each with its last house.
        idle: list[tuple[Any, str]] = []
        self._assign_jobs(running, idle, jobs)
        while running:
            (done, *_), _ = ray.wait(list(running))
            actor, job = running.pop(done)
            try:
                outcome = ray.get(done)
                idle.append((actor, job.house))
            except ray.exceptions.RayActorError as error:
                text = f"the worker that ran it died: {str(error).splitlines()[0]}"
                outcome = _Outcome(failed_row(self._settings, job, Fault.DIED, text))
            if isinstance(outcome, PlannerError):
                raise outcome
            jobs.note(outcome.row)
            # Assign first, so that actors continue while the outcome is written.
            self._assign_jobs(running, idle, jobs)
            take(outcome)

    def _assign_jobs(
        self,
        running: dict[Any, tuple[Any, Job]],
        idle: list[tuple[Any, str]],
        jobs: JobSource,
    ) -> None:
        """Gives jobs to idle actors, then to new ones, as long as there are any."""
        while len(running) < self._workers:
            job = jobs.next(idle[-1][1] if idle else "")
            if job is None:
                return
            if idle:
                actor, _ = idle.pop()
            else:
                actor = self._ray.remote(num_cpus=1)(RayWorker).remote(self._settings)
            running[actor.play.remote(job)] = (actor, job)


class RayWorker:
    """The actor: a worker with its event loop."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()
        self._worker: EpisodeWorker | None = None

    def play(self, job: Job) -> _Outcome | PlannerError:
        """The outcome of an episode, or the error that prevents all runs."""
        if self._worker is None:
            try:
                self._worker = EpisodeWorker(self._settings, Models(self._settings))
            except PlannerError as error:
                return PlannerError(str(error))
        return self._runner.run(self._worker.play(job))
