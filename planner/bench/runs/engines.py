"""Engines that run the episodes, their queue of jobs, and the flags that choose them."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol, TypeAlias

from planner.bench.runs.manifest import Job
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Fault, Row
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import EpisodeWorker, Outcome, failed_row
from planner.world.errors import PlannerError

# Where engines get their jobs: a fixed list, or a source that reacts to outcomes.


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


# A pool of processes, each with its own simulator; a crash costs one episode.

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


# Flags that choose the engine of a run, shared by commands that run episodes.


def add_engine_flags(group: argparse._ArgumentGroup) -> None:
    """Declares them."""
    group.add_argument("--workers", type=int, default=1, metavar="W", help="processes")
    group.add_argument(
        "--engine",
        choices=[kind.value for kind in EngineKind],
        help="default: one_process, or pool with several workers",
    )
    group.add_argument("--ray-address", default="", help="head of a cluster; none = this machine")
    group.add_argument(
        "--at-once", type=int, default=1, metavar="C", help="concurrent episodes in one process"
    )


def make_engine(args: argparse.Namespace, settings: RunSettings) -> Engine:
    """The engine that the flags name.

    Raises:
        PlannerError: for flags that do not fit together, or without the extra `ray`.
    """
    default = EngineKind.POOL if args.workers > 1 else EngineKind.ONE_PROCESS
    kind = EngineKind(args.engine) if args.engine else default
    if kind is EngineKind.ONE_PROCESS and args.workers > 1:
        raise PlannerError(f"--engine one_process has no {args.workers} workers; leave one out")
    if kind is not EngineKind.ONE_PROCESS and args.at_once > 1:
        raise PlannerError("--at-once is for --engine one_process")
    if kind is EngineKind.RAY:
        return RayEngine(settings, args.workers, args.ray_address)
    if kind is EngineKind.POOL:
        return ProcessPool(settings, args.workers)
    return OneProcess(settings, args.at_once)


# Ray: runs episodes on a cluster. Needs the extra `ray`, and the planner on each machine.

# Loading takes 5 s of a processor.
START_TIMEOUT_S = 90.0
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
        self._free = 0.0

    def run(self, jobs: JobSource, take: Take) -> None:
        """See `planner.bench.runs.engines.Engine`; Ctrl-C abandons running episodes."""
        ray = self._ray
        # Ray reports usage statistics to its developers unless disabled.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Its workers' niceness is 15: beside other work they would load for minutes.
        os.environ.setdefault("RAY_worker_niceness", "0")
        where: dict[str, Any] = {"num_cpus": self._workers, "include_dashboard": False}
        if self._address:
            where = {"address": self._address}
            # Where nobody answers it tries so often, 40 s each, and by default 20 times.
            os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "2")
        try:
            ray.init(**where, log_to_driver=False)
        except Exception as error:  # A start that times out raises a plain Exception.
            raise PlannerError(f"ray: no cluster: {error}") from None
        try:
            self._free = ray.available_resources().get("CPU", 0.0)
            self._all(jobs, take)
        finally:
            ray.shutdown()

    def _all(self, jobs: JobSource, take: Take) -> None:
        """Only an actor that is ready gets a job, so none waits for one that never starts."""
        starting: dict[Any, Any] = {}
        running: dict[Any, tuple[Any, Job]] = {}
        # Ready actors without a job, each with its last house.
        idle: list[tuple[Any, str]] = []
        while True:
            missing = min(self._workers, jobs.total) - len(starting) - len(running) - len(idle)
            starting.update(self._start_actor() for _ in range(missing))
            if not running and (idle or not starting):
                return
            begun = self._first_of([*starting, *running], None if running else START_TIMEOUT_S)
            outcome = None
            if begun in starting:
                idle.append((self._ready(begun, starting.pop(begun)), ""))
            else:
                actor, job = running.pop(begun)
                try:
                    outcome = self._ray.get(begun)
                    idle.append((actor, job.house))
                except self._ray.exceptions.RayActorError as error:
                    text = f"the worker that ran it died: {str(error).splitlines()[0]}"
                    outcome = Outcome(failed_row(self._settings, job, Fault.DIED, text))
                jobs.note(outcome.row)
            # Assign first, so that actors continue while the outcome is written.
            while idle and (next_job := jobs.next(idle[-1][1])) is not None:
                actor, _ = idle.pop()
                running[actor.play.remote(next_job)] = (actor, next_job)
            if outcome is not None:
                take(outcome)

    def _start_actor(self) -> tuple[Any, Any]:
        """What tells that it is ready, and the actor."""
        actor = self._ray.remote(num_cpus=1)(RayWorker).remote(self._settings)
        return actor.load.remote(), actor

    def _first_of(self, awaited: list[Any], timeout_s: float | None) -> Any:
        done, _ = self._ray.wait(awaited, timeout=timeout_s)
        if done:
            return done[0]
        why = "they still load the planner, so their machine is too busy"
        if self._free < 1:
            why = "others have all processors of the cluster"
        waited = f"ray: no worker is ready after {START_TIMEOUT_S:.0f} s"
        raise PlannerError(f"{waited}: {why}; try again later, or use --engine pool")

    def _ready(self, told: Any, actor: Any) -> Any:
        """The actor; raises the error that prevents all runs."""
        try:
            error = self._ray.get(told)
        except self._ray.exceptions.RayError as died:
            text = " ".join(str(died).split())
            error = PlannerError(f"ray: a worker ended before its first episode: {text}")
        if error is not None:
            raise error
        return actor


class RayWorker:
    """The actor: a worker with its event loop."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()

    def load(self) -> PlannerError | None:
        """Prepares for episodes; the error that prevents all of them."""
        try:
            self._worker = EpisodeWorker(self._settings, Models(self._settings))
        except PlannerError as error:
            return PlannerError(str(error))
        return None

    def play(self, job: Job) -> Outcome:
        """The outcome of an episode."""
        return self._runner.run(self._worker.play(job))
