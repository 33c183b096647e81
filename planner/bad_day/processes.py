"""Processes that a run starts, stops, throttles and kills: forks of a process without threads."""

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
_LOOK_S = 0.05
# What killed programs had in shared memory, of this process.
LEFT_BEHIND: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Start:
    """A program of ours to fork; all that it prints goes to `log`."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path


class Spawner:
    """Starts programs from within a process with threads, by asking one without any."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def start(self, start: Start) -> Program:
        """Starts a program."""
        pid = self._ask("start", start)
        return Program(start.name, int(pid), self, start.log)

    def status(self, pid: int) -> int | None:
        """The exit status of a program, None while it runs; of a signal its number below zero."""
        found: int | None = self._ask("status", pid)
        return found

    def _ask(self, word: str, value: object) -> Any:
        with self._lock:
            self._connection.send((word, value))
            return self._connection.recv()


def serve_spawner(connection: Connection, child: BaseProcess) -> None:
    """What the process without threads does, until `child`, who asks it, has ended."""
    made: dict[int, BaseProcess] = {}
    while child.exitcode is None:
        try:
            if not connection.poll(_LOOK_S):
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


def _fork(start: Start) -> BaseProcess:
    with start.log.open("ab") as log:
        words = ("python", *start.words)
        arguments = (start.name, words, dict(start.environment), log.fileno(), os.getpid())
        process = multiprocessing.get_context("fork").Process(target=become, args=arguments)
        process.start()
    return process


class Program:
    """A process, and what is done to it; `log` is where what it prints goes, if anybody knows."""

    def __init__(self, name: str, pid: int, spawner: Spawner | None, log: Path | None) -> None:
        self.name, self.pid, self.log = name, pid, log
        self._spawner = spawner
        # How many times it was frozen and not yet thawed.
        self._frozen = 0
        self._throttle: threading.Event | None = None

    @property
    def status(self) -> int | None:
        """Its exit status, None while it runs; 0 where it is not ours and gone."""
        if self._spawner is not None:
            return self._spawner.status(self.pid)
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return 0
        return 0 if state == "Z" else None

    def said(self) -> str:
        """All that it printed."""
        if self.log is None or not self.log.exists():
            return ""
        return self.log.read_text("utf-8", "replace")

    def wait(self, seconds: float) -> int | None:
        """Its exit status, None where it runs on after so long."""
        until_s = time.monotonic() + seconds
        while (status := self.status) is None and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        return status

    def send(self, number: int) -> None:
        """Sends a signal; nothing where it has ended."""
        if self.status is None:
            if number == signal.SIGKILL:
                LEFT_BEHIND.update(segments_of(self.pid))
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def freeze(self) -> None:
        """Stops it in the midst of whatever it does."""
        self._frozen += 1
        self.send(signal.SIGSTOP)

    def thaw(self, *, at_once: bool = False) -> bool:
        """Lets it go on, once it was thawed as often as frozen or `at_once`; whether it does."""
        self._frozen = 0 if at_once else max(0, self._frozen - 1)
        if not self._frozen:
            self.send(signal.SIGCONT)
        return not self._frozen

    def throttle(self, share: float) -> None:
        """Lets it run for this share of the time alone, 1 for all of it.

        It is stopped for the rest of each tenth of a second, as a quota of processor time does
        with who always has something to do.
        """
        if self._throttle is not None:
            self._throttle.set()
            self._throttle = None
        if share < 1:
            self._throttle = threading.Event()
            threading.Thread(
                target=self._alternate, args=(share, self._throttle), daemon=True
            ).start()

    def _alternate(self, share: float, over: threading.Event) -> None:
        while not over.is_set() and self.status is None:
            if not self._frozen:
                self._kill(signal.SIGSTOP)
            if over.wait(_PERIOD_S * (1 - share)):
                break
            if not self._frozen:
                self._kill(signal.SIGCONT)
            over.wait(_PERIOD_S * share)
        if not self._frozen:
            self._kill(signal.SIGCONT)

    def _kill(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Busy:
    """Processes that take whatever processor time they can get."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def set(self, count: int) -> None:
        """So many of them from now on."""
        while len(self._running) > count:
            process = self._running.pop()
            process.kill()
            process.wait()
        words: Sequence[str] = (sys.executable, "-S", "-c", "while True: pass")
        while len(self._running) < count:
            self._running.append(subprocess.Popen(words))
