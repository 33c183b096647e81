"""A pool of processes, each with its own simulator; a crash costs one episode."""

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
_JOIN_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _Worker:
    """A process and the parent's end of its pipe.

    Attributes:
        job: the running one; None = idle.
        house: of its last job.
        is_ready: whether it has finished loading.
    """

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None
    house: str = ""
    is_ready: bool = False

    def begin(self, job: Job) -> None:
        """Sends it a job; if the process is dead, reading the pipe will report it."""
        self.job, self.house = job, job.house
        with suppress(OSError):
            self.pipe.send(job)

    def stop(self, *, at_once: bool) -> None:
        """Ends the process, which exits by itself when its pipe is closed."""
        self.pipe.close()
        if not at_once:
            self.process.join(_JOIN_TIMEOUT_S)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(_JOIN_TIMEOUT_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class ProcessPool:
    """A number of processes that each run one episode at a time."""

    def __init__(self, settings: RunSettings, workers: int) -> None:
        self._settings, self._workers = settings, workers

    def run(self, jobs: JobSource, take: Take) -> None:
        """See `planner.bench.runs.engines.Engine`; Ctrl-C abandons running episodes."""
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
                        # Assign first, so that workers continue while the outcome is written.
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
        # Spawned, not forked: simulators and library threads do not survive a fork.
        context = multiprocessing.get_context("spawn")
        parent_end, worker_end = context.Pipe()
        process = context.Process(target=_work, args=(worker_end, self._settings), daemon=True)
        process.start()
        worker_end.close()
        return _Worker(process, parent_end)

    def _receive(self, worker: _Worker, workers: list[_Worker]) -> Outcome | None:
        """A process's outcome; a dead process is removed.

        Raises:
            PlannerError: if no process can start.
        """
        try:
            received = worker.pipe.recv()
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
        if isinstance(received, PlannerError):
            raise received
        worker.is_ready = True
        return received if isinstance(received, Outcome) else None


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def _work(pipe: Connection, settings: RunSettings) -> None:
    """The worker's process: runs jobs until the pipe is closed."""
    # Ctrl-C reaches all processes of a terminal; the parent handles it.
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
