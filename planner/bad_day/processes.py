"""Processes that a run starts, throttles and kills, forked from a single-threaded process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from planner.bad_day.shared_memory import segments_of
from planner.warm_start import become

# How often a throttled process is stopped and continued.
_PERIOD_S = 0.1
_POLL_S = 0.05
# Shared-memory segments of programs that this process killed.
LEFTOVER_SEGMENTS: set[Path] = set()


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program to fork; its output goes to `log`."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path


class Spawner:
    """Starts programs for a multi-threaded process through a single-threaded one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def start(self, spec: ProgramSpec) -> Program:
        """Starts a program."""
        pid = self._ask("start", spec)
        return Program(spec.name, int(pid), self, spec.log)

    def status(self, pid: int) -> int | None:
        """Exit status of a program, None while it runs, minus the number if a signal killed it."""
        found: int | None = self._ask("status", pid)
        return found

    def _ask(self, word: str, value: object) -> Any:
        with self._lock:
            self._connection.send((word, value))
            return self._connection.recv()


def serve_spawner(connection: Connection, child: BaseProcess) -> None:
    """Serves a `Spawner` from the single-threaded process until its client `child` has ended."""
    made: dict[int, BaseProcess] = {}
    while child.exitcode is None:
        try:
            if not connection.poll(_POLL_S):
                continue
            word, value = connection.recv()
        except EOFError:
            break
        if word == "status":
            connection.send(made[value].exitcode)
            continue
        process = _fork(value)
        made[process.pid or 0] = process
        connection.send(process.pid)
    for process in made.values():
        if process.exitcode is None:
            process.kill()
            process.join()


def _fork(spec: ProgramSpec) -> BaseProcess:
    with spec.log.open("ab") as log:
        words = ("python", *spec.arguments)
        arguments = (spec.name, words, dict(spec.environment), log.fileno(), os.getpid())
        process = multiprocessing.get_context("fork").Process(target=become, args=arguments)
        process.start()
    return process


class Program:
    """A process that can be frozen, throttled and killed; `log` has its output, if known."""

    def __init__(self, name: str, pid: int, spawner: Spawner | None, log: Path | None) -> None:
        self.name, self.pid, self.log = name, pid, log
        self._spawner = spawner
        # Freezes not yet undone by `thaw`.
        self._frozen = 0
        self._throttle: threading.Event | None = None

    @property
    def status(self) -> int | None:
        """Exit status, None while it runs; 0 if it is not a child of ours and gone."""
        if self._spawner is not None:
            return self._spawner.status(self.pid)
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return 0
        return 0 if state == "Z" else None

    def output(self) -> str:
        """Everything it has printed."""
        if self.log is None or not self.log.exists():
            return ""
        return self.log.read_text("utf-8", "replace")

    def wait(self, seconds: float) -> int | None:
        """Exit status, None if it is still running after the timeout."""
        until_s = time.monotonic() + seconds
        while (status := self.status) is None and time.monotonic() < until_s:
            time.sleep(_POLL_S)
        return status

    def send(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.status is None:
            if number == signal.SIGKILL:
                LEFTOVER_SEGMENTS.update(segments_of(self.pid))
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def freeze(self) -> None:
        """Suspends it (SIGSTOP)."""
        self._frozen += 1
        self.send(signal.SIGSTOP)

    def thaw(self, *, at_once: bool = False) -> bool:
        """Resumes it once every freeze is undone, or `at_once`; whether it was resumed."""
        self._frozen = 0 if at_once else max(0, self._frozen - 1)
        if not self._frozen:
            self.send(signal.SIGCONT)
        return not self._frozen

    def throttle(self, share: float) -> None:
        """Lets it run for this share of the time only, 1 = unthrottled.

        It is suspended for the rest of each 0.1 s, as a CPU quota does with a busy process.
        """
        if self._throttle is not None:
            self._throttle.set()
            self._throttle = None
        if share < 1:
            self._throttle = threading.Event()
            threading.Thread(
                target=self._alternate, args=(share, self._throttle), daemon=True
            ).start()

    def _alternate(self, share: float, stopped: threading.Event) -> None:
        while not stopped.is_set() and self.status is None:
            if not self._frozen:
                self._kill(signal.SIGSTOP)
            if stopped.wait(_PERIOD_S * (1 - share)):
                break
            if not self._frozen:
                self._kill(signal.SIGCONT)
            stopped.wait(_PERIOD_S * share)
        if not self._frozen:
            self._kill(signal.SIGCONT)

    def _kill(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class CpuLoad:
    """Busy processes that compete for CPU time."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def set(self, count: int) -> None:
        """Sets how many of them run."""
        while len(self._running) > count:
            process = self._running.pop()
            process.kill()
            process.wait()
        command: Sequence[str] = (sys.executable, "-S", "-c", "while True: pass")
        while len(self._running) < count:
            self._running.append(subprocess.Popen(command))
