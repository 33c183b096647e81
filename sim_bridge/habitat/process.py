"""The process of habitat-sim: starts it, sends requests, and survives its death."""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from planner.world.errors import PlannerError
from sim_bridge.habitat.worker import NO_BULLET, WireError, receive, send, too_old

WORKER = Path(__file__).with_name("worker.py")
INSTALL = "docs/habitat.md tells how to get it"
# Number of last output lines of habitat-sim in the error.
_LAST_LINES = 3
_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - files there have no name
_LOG_TAIL_BYTES = 8192
_SHUTDOWN_TIMEOUT_S = 5.0
# Requests that read files or build meshes; all others are answered within a moment.
_LOADING = frozenset({"open_house", "add", "mesh"})
# An answer of this age need not be confirmed.
_RECENT_S = 0.2
# Share of an answer's timeout in which an idle process has to say that it is there.
_ALIVE_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long habitat-sim may take, in seconds of wall time.

    Attributes:
        start_s: to start.
        load_s: to load a house, things or a navigation mesh.
        answer_s: for anything else: a view, rays, a path, a step.
    """

    start_s: float
    load_s: float
    answer_s: float

    def of(self, request: str) -> float:
        """The timeout of a request."""
        if request == "hello":
            return self.start_s
        if request == "alive":
            return _ALIVE_SHARE * self.answer_s
        return self.load_s if request in _LOADING else self.answer_s


class HabitatError(PlannerError):
    """habitat-sim cannot do what is requested, or has ended."""


class HabitatGoneError(HabitatError):
    """The process of habitat-sim has ended or does not answer; a new one must be started."""


def interpreter(requested: str) -> str:
    """The Python that runs habitat-sim: the named one, the environment's, or this one.

    Raises:
        HabitatError: if none of them could have habitat_sim.
    """
    named = requested or os.environ.get("PLANNER_HABITAT_PYTHON", "")
    if named:
        if not os.access(named, os.X_OK) or not Path(named).is_file():
            raise HabitatError(
                f"habitat python: {named} is not a program that can be run; {INSTALL}"
            )
        return named
    if find_spec("habitat_sim") is None:
        raise HabitatError(
            f"habitat_sim is not in this Python ({sys.executable}); name one that has it as "
            f"python in the backend's settings or as PLANNER_HABITAT_PYTHON; {INSTALL}"
        )
    return sys.executable


class HabitatProcess:
    """One habitat-sim in a process of its own.

    Attributes:
        memory: shared memory for pictures.
        about: its version, whether it has Bullet, its Python.
    """

    def __init__(
        self, python: str, memory_bytes: int, timeouts: Timeouts, *, worker: Path = WORKER
    ) -> None:
        """Starts it and waits until it answers.

        Args:
            python: the interpreter.
            memory_bytes: size of the shared memory.
            timeouts: by kind of request.
            worker: the program that is run.

        Raises:
            HabitatError: if it does not start, has no habitat_sim, or one without Bullet.
        """
        self._fault = ""
        self._timeouts = timeouts
        self._answered_s = 0.0
        with _shared_file(memory_bytes) as shared:
            self.memory = mmap.mmap(shared.fileno(), memory_bytes)
            self._log = tempfile.TemporaryFile()  # noqa: SIM115
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    self._process = _spawn(python, worker, theirs, shared, self._log)
            except OSError as error:
                ours.close()
                self._log.close()
                raise HabitatError(f"habitat python: {python} cannot be run: {error}") from error
        self._socket = ours
        try:
            self.about = self.ask("hello")
            _check_about(python, self.about)
        except PlannerError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def fault(self) -> str:
        """Why it is gone; empty while it runs."""
        if not self._fault and self._process.poll() is not None:
            self._fault = self._exit_message("while nothing was asked of it", "")
        return self._fault

    def ask(self, request: str, **what: object) -> Mapping[str, object]:
        """Its reply to a request of `worker.serve`.

        Raises:
            HabitatGoneError: if it has ended, ends during the request, or does not answer in time.
            HabitatError: if it refuses.
        """
        if self.fault:
            raise HabitatGoneError(self._fault)
        limit_s = self._timeouts.of(request)
        self._socket.settimeout(limit_s)
        try:
            send(self._socket, {"do": request, **what})
            reply = receive(self._socket)
        except WireError as error:
            hangs = isinstance(error.__cause__, TimeoutError)
            why = f"it did not answer within {limit_s:g} s" if hangs else str(error)
            self._fault = self._exit_message(f"when asked for {request}", why, hangs=hangs)
            raise HabitatGoneError(self._fault) from error
        self._answered_s = time.monotonic()
        if "error" in reply:
            raise HabitatError(f"habitat-sim, asked for {request}: {reply['error']}")
        return reply

    def confirm(self) -> str:
        """Asks whether it is still there, unless it has just answered; its `fault`.

        A process that hangs is stopped.
        """
        if not self.fault and time.monotonic() - self._answered_s > _RECENT_S:
            with contextlib.suppress(HabitatGoneError):
                self.ask("alive")
        return self.fault

    def _exit_message(self, when: str, reason: str, *, hangs: bool = False) -> str:
        """How it ended, in one line; makes sure that it has."""
        try:
            status = self._process.wait(0.0 if hangs else 0.5)
            ended = f"ended by itself with {_told(status)}"
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            ended = f"was stopped, as {reason}"
        last = self._last_lines()
        return f"habitat-sim {ended} {when}{f': {last}' if last else ''}"

    def _last_lines(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LOG_TAIL_BYTES))
        text = self._log.read().decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-_LAST_LINES:])

    def close(self) -> None:
        """Ends it; safe to call twice."""
        self._fault = self._fault or "habitat-sim was closed"
        self._socket.close()
        try:
            self._process.wait(_SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        # Pictures that refer to the memory keep it until the last of them is gone.
        with contextlib.suppress(BufferError):
            self.memory.close()


def _check_about(python: str, about: Mapping[str, object]) -> None:
    """Refuses a habitat-sim that cannot do what is asked of it."""
    reason = too_old(str(about.get("version", ""))) or ("" if about.get("bullet") else NO_BULLET)
    if reason:
        raise HabitatError(f"the habitat_sim of {python} {reason}; {INSTALL}")


def _shared_file(size: int) -> BinaryIO:
    """A file without a name, in memory if the system supports that; deleted with its last user."""
    shared = tempfile.TemporaryFile(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None)  # noqa: SIM115
    shared.truncate(size)
    return shared


def _spawn(
    python: str, worker: Path, theirs: socket.socket, shared: BinaryIO, log: BinaryIO
) -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    if python != sys.executable:
        # Our paths are for our own Python.
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
    environment.setdefault("MAGNUM_LOG", "quiet")
    environment.setdefault("HABITAT_SIM_LOG", "quiet")
    handles = (theirs.fileno(), shared.fileno())
    return subprocess.Popen(
        [python, str(worker), *map(str, handles)],
        pass_fds=handles,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env=environment,
        # Ctrl-C is handled by the bridge, which ends it.
        start_new_session=True,
    )


def _told(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
