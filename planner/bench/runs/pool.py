"""A pool of processes, each with its own simulator; one that dies costs one episode."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from planner.bench.runs.engines import Take
from planner.bench.runs.job_queue import JobSource
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Fault
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import EpisodeWorker, Outcome, failed_row
from planner.world.errors import PlannerError

_READY = "ready"
_PATIENCE_S = 5.0


@dataclass(slots=True)
class _Worker:
    """A process and our end of its pipe.

    Attributes:
        job: what it carries out; None = it is idle.
        house: of its last job.
        is_ready: whether it has loaded what it needs.
    """

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None
    house: str = ""
    is_ready: bool = False

    def begin(self, job: Job) -> None:
        """Gives it a job; where it is dead already, the end of its pipe says so."""
        self.job, self.house = job, job.house
        with suppress(OSError):
            self.pipe.send(job)

    def stop(self, *, at_once: bool) -> None:
        """Ends the process: it leaves by itself when its pipe is closed."""
        self.pipe.close()
        if not at_once:
            self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(_PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class ProcessPool:
    """So many processes, fed one episode at a time."""

    def __init__(self, settings: RunSettings, workers: int) -> None:
        self._settings, self._workers = settings, workers

    def run(self, jobs: JobSource, take: Take) -> None:
        """As `planner.bench.runs.engines.Engine`; Ctrl-C gives up what is under way."""
        workers: list[_Worker] = []
        try:
            self._assign_jobs(workers, jobs)
            while any(worker.job is not None for worker in workers):
                for pipe in wait([worker.pipe for worker in workers]):
                    worker = next(worker for worker in workers if worker.pipe is pipe)
                    outcome = self._receive(worker, workers)
                    if outcome is not None:
                        worker.job = None
                        jobs.note(outcome.row)
                        # They go on while the outcome is written.
                        self._assign_jobs(workers, jobs)
                        take(outcome)
            while workers:
                workers.pop().stop(at_once=False)
        finally:
            for worker in workers:
                worker.stop(at_once=True)

    def _assign_jobs(self, workers: list[_Worker], jobs: JobSource) -> None:
        """Gives jobs to idle processes, then to new ones, as long as there are any."""
        for worker in workers:
            if worker.job is None:
                job = jobs.next(worker.house)
                if job is None:
                    return
                worker.begin(job)
        while len(workers) < self._workers and (job := jobs.next()) is not None:
            workers.append(self._start_worker())
            workers[-1].begin(job)

    def _start_worker(self) -> _Worker:
        # Spawned, not forked: simulators and threads of libraries do not live through a fork.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._settings), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _receive(self, worker: _Worker, workers: list[_Worker]) -> Outcome | None:
        """What a process says; one that has died is let go.

        Raises:
            PlannerError: if no process can begin.
        """
        try:
            said = worker.pipe.recv()
        except (EOFError, OSError):
            workers.remove(worker)
            worker.stop(at_once=False)
            how = _ended(worker.process.exitcode)
            if not worker.is_ready:
                raise PlannerError(f"a worker's process {how} before its first episode") from None
            text = f"the process that ran it {how}"
            if worker.job is None:
                return None
            return Outcome(failed_row(self._settings, worker.job, Fault.DIED, text))
        if isinstance(said, PlannerError):
            raise said
        worker.is_ready = True
        return said if isinstance(said, Outcome) else None


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _work(pipe: Connection, settings: RunSettings) -> None:
    """The worker's process: carries out what comes until the pipe is closed."""
    # Ctrl-C goes to all processes of a terminal; the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with asyncio.Runner() as runner, suppress(EOFError, OSError):
        try:
            worker = EpisodeWorker(settings, Models(settings))
        except PlannerError as error:
            pipe.send(PlannerError(str(error)))
            return
        pipe.send(_READY)
        while True:
            pipe.send(runner.run(worker.play(pipe.recv())))
