"""Runs a set of child processes as one: one log, restarts, one clean stop.

Guarantees: only processes started here are signalled; all of them are gone when `run` returns; if
this process itself is killed, the kernel kills its children; and if it is stopped, they can tell.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from types import FrameType
from typing import IO

from planner.command_line import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, PERIOD_S, Pulse
from planner.warm_start import Fork

_LONGEST_LINE_BYTES = 64 * 1024
_LAST_READS = 16
# Of output that waits to be read; the most that Linux gives to everyone.
_PIPE_BYTES = 1024 * 1024
# A passive process may be restarted for days: beyond this, powers of two would overflow.
_MOST_DOUBLINGS = 64
_PR_SET_PDEATHSIG = 1
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Signals of a stop, the next one after each grace period.
_ESCALATION = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Command:
    """One process to keep running.

    Attributes:
        name: of its lines in the log.
        words: program and arguments; no shell reads them.
        restart_words: program and arguments for a restart; empty = `words`.
        environment: the whole environment of the process.
        respawn: whether it is restarted when it dies, whatever its status. If not, status 0 is a
            normal end and any other one ends the run.
        ends_run: whether the whole run ends when this process ends with status 0.
        warm: whether it is a Python program of ours, started as a fork; see `planner.warm_start`.
        stops_last: whether it is stopped only after all others have ended, such as a recorder.
        passive: whether the others do their work without it: however often it dies, it is restarted
            and the others go on, whether or not it has `respawn`.
    """

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    restart_words: Sequence[str] = ()
    respawn: bool = True
    ends_run: bool = False
    warm: bool = False
    stops_last: bool = False
    passive: bool = False


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """When a process that died is restarted.

    Attributes:
        first_delay_s: delay before the first restart; doubles with each further one.
        longest_delay_s: upper bound of the delay.
        limit: restarts in a row before giving up; a passive process is never given up.
        longest_passive_delay_s: upper bound of the delay of a passive process.
        healthy_after_s: the count of restarts is reset after this uptime.
    """

    first_delay_s: float = 0.5
    longest_delay_s: float = 8.0
    limit: int = 5
    longest_passive_delay_s: float = 60.0
    healthy_after_s: float = 30.0

    def delay_s(self, restarts: int, *, passive: bool = False) -> float:
        """Return the delay before restart number `restarts + 1`."""
        longest_s = self.longest_passive_delay_s if passive else self.longest_delay_s
        return min(longest_s, self.first_delay_s * 2.0 ** min(restarts, _MOST_DOUBLINGS))

    def after(self, restarts: int, uptime_s: float) -> int:
        """Return the count of restarts in a row, for a process that died after `uptime_s`."""
        return 0 if uptime_s >= self.healthy_after_s else restarts


class _Phase(Enum):
    WAITING = auto()
    RUNNING = auto()
    ENDED = auto()


@dataclass(slots=True)
class _Child:
    command: Command
    phase: _Phase = _Phase.WAITING
    start_at_s: float = 0.0
    started_s: float = 0.0
    restarts: int = 0
    process: subprocess.Popen[bytes] | Fork | None = None  # None once it was waited for
    output: IO[bytes] | None = None
    pending: bytes = b""


@dataclass(slots=True)
class _Stop:
    """A stop in progress: the status to return, and how far it has escalated."""

    status: int
    step: int = 0
    next_s: float = 0.0
    hurried: int = 0  # steps that skip the grace period
    last_wave: bool = False  # only processes with `stops_last` are left


def dies_with(parent: int) -> Callable[[], None]:
    """What a child of this parent calls before it begins, so that it is killed with it (Linux)."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

    def before_exec() -> None:
        if libc is None:
            return
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # the parent died before the call
            os._exit(1)

    return before_exec


class Supervisor:
    """Starts commands, keeps them running, and stops them together.

    Runs in the main thread of the process, because it handles signals.

    Args:
        commands: what to run; names are unique.
        write: takes one line of the log: the name of its source and the text.
        policy: when to restart a dead process.
        stop_grace_s: time between SIGINT, SIGTERM and SIGKILL.
        stopped_status: what `run` returns after a signal that requested a stop.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        write: Callable[[str, str], None],
        *,
        policy: RestartPolicy | None = None,
        stop_grace_s: float = 5.0,
        stopped_status: int = EXIT_OK,
    ) -> None:
        self._children = [_Child(command) for command in commands]
        self._write = write
        self._policy = policy or RestartPolicy()
        self._stop_grace_s = stop_grace_s
        self._stopped_status = stopped_status
        self._selector = selectors.DefaultSelector()
        self._pulse = Pulse()
        self._stop: _Stop | None = None
        self._pending_signals: list[signal.Signals] = []

    def run(self) -> int:
        """Run until a signal, the normal end of all processes, or one that cannot be kept running.

        Returns:
            `stopped_status` after SIGINT, SIGTERM or SIGHUP; 0 after a normal end;
                `EXIT_CONFIGURATION` if a process exited with it at its first start; `EXIT_FAILED`
                if one that is not passive died too often.
        """
        waker, wakened = socket.socketpair()
        waker.setblocking(False)
        wakened.setblocking(False)
        self._selector.register(wakened, selectors.EVENT_READ)
        old_fd = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        old_handlers = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
        if old_handlers[signal.SIGHUP] is signal.SIG_IGN:  # under nohup
            del old_handlers[signal.SIGHUP]
        for number in old_handlers:
            signal.signal(number, self._on_signal)
        # With a handler, even an empty one, the end of a child wakes up the selector.
        old_handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _ignore)
        try:
            return self._loop(wakened)
        finally:
            self._kill_all()
            signal.set_wakeup_fd(old_fd)
            for number, handler in old_handlers.items():
                signal.signal(number, handler)
            self._selector.close()
            self._pulse.close()
            waker.close()
            wakened.close()

    def _loop(self, wakened: socket.socket) -> int:
        while True:
            self._pulse.beat()
            self._handle_signals()
            self._start_due()
            self._reap()
            self._escalate()
            if all(child.phase is _Phase.ENDED for child in self._children):
                return self._stop.status if self._stop else EXIT_OK
            for key, _ in self._selector.select(self._wait_s()):
                if key.fileobj is wakened:
                    _drain(wakened)
                else:
                    self._read(key.data)

    # Starting

    def _start_due(self) -> None:
        now_s = time.monotonic()
        for child in self._children:
            if child.phase is not _Phase.WAITING:
                continue
            if self._stop:
                child.phase = _Phase.ENDED
            elif child.start_at_s <= now_s:
                self._start(child, now_s)

    def _start(self, child: _Child, now_s: float) -> None:
        try:
            process = self._process_of(child.command)
        except OSError as error:
            self._log(f"{child.command.name} cannot be started: {error}")
            child.phase = _Phase.ENDED
            self._begin_stop(EXIT_CONFIGURATION)
            return
        child.process = process
        child.phase = _Phase.RUNNING
        child.started_s = now_s
        child.output = process.stdout
        if child.output is not None:
            os.set_blocking(child.output.fileno(), False)
            _enlarge(child.output)
            self._selector.register(child.output, selectors.EVENT_READ, child)
        self._log(f"{child.command.name} started, process {process.pid}")

    def _process_of(self, command: Command) -> subprocess.Popen[bytes] | Fork:
        environment = {**command.environment, **self._pulse.environment}
        if command.warm:
            return Fork(command.name, command.words, environment)
        return subprocess.Popen(
            command.words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Its own process group: Ctrl-C in the terminal reaches only the supervisor, and a stop
            # also reaches the process's own children.
            start_new_session=True,
            preexec_fn=dies_with(os.getpid()),
        )

    # Output

    def _log(self, text: str) -> None:
        self._write_line("planner", text)

    def _write_line(self, name: str, text: str) -> None:
        try:
            self._write(name, text)
        except OSError:  # nobody reads the log any more; stop cleanly all the same
            self._write = _discard
            self._begin_stop(EXIT_FAILED)

    def _read(self, child: _Child) -> bool:
        """Log a chunk of the child's output; return whether there was any."""
        if child.output is None:
            return False
        try:
            chunk = os.read(child.output.fileno(), _LONGEST_LINE_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._close_output(child)
            return False
        *lines, child.pending = (child.pending + chunk).split(b"\n")
        if len(child.pending) > _LONGEST_LINE_BYTES:
            lines.append(child.pending)
            child.pending = b""
        for line in lines:
            self._write_line(child.command.name, _text(line))
        return True

    def _close_output(self, child: _Child) -> None:
        if child.output is not None:
            self._selector.unregister(child.output)
            child.output.close()
            child.output = None
        if child.pending:
            self._write_line(child.command.name, _text(child.pending))
            child.pending = b""

    # Ended processes

    def _reap(self) -> None:
        for child in self._children:
            process = child.process
            if child.phase is not _Phase.RUNNING or process is None or not has_ended(process.pid):
                continue
            # Not reaped yet, so its pid, which is also its group's id, cannot have been reused:
            # processes it left behind can be killed safely.
            _signal_group(process.pid, signal.SIGKILL)
            status = process.wait()
            child.process = None
            child.phase = _Phase.ENDED
            # Its last output; bounded, as a daemon it started may keep the pipe open and go on
            # writing.
            for _ in range(_LAST_READS):
                if not self._read(child):
                    break
            self._close_output(child)
            self._ended(child, status)

    def _ended(self, child: _Child, status: int) -> None:
        name, how = child.command.name, _in_words(status)
        if self._stop:
            self._log(f"{name} stopped, {how}")
        elif status == 0 and not child.command.respawn:
            self._log(f"{name} is done")
            if child.command.ends_run:
                self._begin_stop(EXIT_OK)
        # A restarted process has already run with this configuration: the error may be temporary,
        # such as a robot that does not answer over a slow link.
        elif status == EXIT_CONFIGURATION and not child.restarts:
            self._log(f"{name} cannot run as configured ({how}); stopping everything")
            self._begin_stop(EXIT_CONFIGURATION)
        elif child.command.ends_run and status == EXIT_FAILED:
            # It ended by itself with a failure: a task not done, a house not fully visited.
            self._log(f"{name} ended without success; stopping everything")
            self._begin_stop(EXIT_FAILED)
        elif not child.command.respawn and not child.command.passive:
            self._log(f"{name} died, {how}; stopping everything")
            self._begin_stop(EXIT_FAILED)
        else:
            self._restart_later(child, how)

    def _restart_later(self, child: _Child, how: str) -> None:
        now_s = time.monotonic()
        child.restarts = self._policy.after(child.restarts, now_s - child.started_s)
        name, passive = child.command.name, child.command.passive
        if child.restarts >= self._policy.limit and not passive:
            self._log(
                f"{name} died, {how}; giving up after {child.restarts} restarts, "
                "stopping everything"
            )
            self._begin_stop(EXIT_FAILED)
            return
        delay_s = self._policy.delay_s(child.restarts, passive=passive)
        child.restarts += 1
        words = child.command.restart_words or child.command.words
        child.command = replace(child.command, words=words)
        child.phase = _Phase.WAITING
        child.start_at_s = now_s + delay_s
        which = f"restart {child.restarts} of {self._policy.limit} in {delay_s:g} s"
        if passive:
            which = f"restart {child.restarts} in {delay_s:g} s, the others go on without it"
        self._log(f"{name} died, {how}; {which}")

    # Stopping

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        # May run at any point, even while a line is written: the loop does the rest.
        self._pending_signals.append(signal.Signals(number))

    def _handle_signals(self) -> None:
        while self._pending_signals:
            number = self._pending_signals.pop(0)
            if self._stop is None:
                self._log(f"{number.name}: stopping")
                self._begin_stop(self._stopped_status)
            else:  # asked again: skip the grace period
                self._stop.hurried += 1

    def _begin_stop(self, status: int) -> None:
        if self._stop is None:
            self._stop = _Stop(status)

    def _escalate(self) -> None:
        stop = self._stop
        now_s = time.monotonic()
        running = [child for child in self._children if child.phase is _Phase.RUNNING]
        if stop is None or not running:
            return
        if not stop.last_wave:
            first = [child for child in running if not child.command.stops_last]
            if first:
                running = first
            else:
                stop.last_wave, stop.step, stop.next_s, stop.hurried = True, 0, 0.0, 0
        if stop.step >= len(_ESCALATION):
            return
        if now_s < stop.next_s and stop.step > stop.hurried:
            return
        number = _ESCALATION[stop.step]
        for child in running:
            if stop.step > 0:
                self._log(f"{child.command.name} is still running: sending {number.name}")
            if child.process is not None:
                _signal_group(child.process.pid, number)
        stop.step += 1
        stop.next_s = now_s + self._stop_grace_s

    def _kill_all(self) -> None:
        """Leave nothing behind, whatever went wrong."""
        for child in self._children:
            if child.process is not None:
                _signal_group(child.process.pid, signal.SIGKILL)
                child.process.wait()
                child.process = None
            if child.output is not None:
                child.output.close()

    def _wait_s(self) -> float:
        """Return the time until something is due, such as the next sign of life."""
        due = [c.start_at_s for c in self._children if c.phase is _Phase.WAITING]
        if self._stop and self._stop.step < len(_ESCALATION):
            due.append(0.0 if self._stop.step <= self._stop.hurried else self._stop.next_s)
        return max(0.0, min([PERIOD_S, *(at_s - time.monotonic() for at_s in due)]))


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing; having a handler is what matters."""


def _enlarge(output: IO[bytes]) -> None:
    """Keep a process from waiting for a supervisor that reads nothing for a while."""
    with contextlib.suppress(OSError):  # its user has too many of them: the usual size has to do
        fcntl.fcntl(output.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _discard(_name: str, _text: str) -> None:
    """Discard a line of the log."""


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")


def _drain(receiver: socket.socket) -> None:
    try:
        while receiver.recv(4096):
            pass
    except BlockingIOError:
        return


def has_ended(pid: int) -> bool:
    """Whether our child `pid` has ended, without reaping it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        # When multiprocessing starts another fork, it reaps all that have ended and keeps their
        # status.
        return True


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return  # all its processes have ended


def _in_words(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"
