"""A pool of processes, each with its own simulator; one that dies costs one episode."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from planner.bench.runs.engines import Take
from planner.bench.runs.job_queue import JobQueue
from planner.bench.runs.models import Models
from planner.bench.runs.rows import Fault
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.suites import Job
from planner.bench.runs.worker import EpisodeWorker, Outcome, failed_row
from planner.world.errors import PlannerError

_READY = "ready"
_PATIENCE_S = 5.0


@dataclass(slots=True)
class _Hand:
    """A process, our end of its pipe, and the job that it carries out."""

    process: SpawnProcess
    pipe: Connection
    job: Job | None = None

    def dismiss(self, *, at_once: bool) -> None:
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

    def run(self, jobs: Sequence[Job], take: Take) -> None:
        """As `planner.bench.runs.engines.Engine`; Ctrl-C gives up what is under way."""
        left = JobQueue(jobs)
        hands = [self._hire() for _ in range(min(self._workers, len(left)))]
        try:
            while hands:
                for pipe in wait([hand.pipe for hand in hands]):
                    hand = next(hand for hand in hands if hand.pipe is pipe)
                    if self._go_on(hand, left, take):
                        continue
                    hand.dismiss(at_once=False)
                    hands.remove(hand)
                    if len(hands) < min(self._workers, len(left)):
                        hands.append(self._hire())
        finally:
            for hand in hands:
                hand.dismiss(at_once=True)

    def _hire(self) -> _Hand:
        # Spawned, not forked: simulators and threads of libraries do not live through a fork.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._settings), daemon=True)
        process.start()
        theirs.close()
        return _Hand(process, ours)

    def _go_on(self, hand: _Hand, left: JobQueue, take: Take) -> bool:
        """Takes what a process says and gives it the next job; False where it is at its end."""
        try:
            said = hand.pipe.recv()
        except (EOFError, OSError):
            self._mourn(hand, take)
            return False
        if isinstance(said, PlannerError):
            raise said
        # It goes on while its outcome is written.
        hand.job = left.next(hand.job.house if hand.job is not None else "")
        if hand.job is not None:
            # Where it is dead already, the end of its pipe tells.
            with suppress(OSError):
                hand.pipe.send(hand.job)
        if isinstance(said, Outcome):
            take(said)
        return hand.job is not None

    def _mourn(self, hand: _Hand, take: Take) -> None:
        hand.process.join(_PATIENCE_S)
        how = _ended(hand.process.exitcode)
        if hand.job is None:
            raise PlannerError(f"a worker's process {how} before its first episode")
        text = f"the process that ran it {how}"
        take(Outcome(failed_row(self._settings, hand.job, Fault.DIED, text)))


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
