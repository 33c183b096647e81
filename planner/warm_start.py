"""Starts nodes as forks of this process, which has loaded the modules they share.

Loading Python modules is most of the start-up cost of a node, and it is the same modules for each.
Loaded once and forked, a whole run starts in about half the time; a dead node is back at once.

`ps` shows which node a process is by its command name (`ps -o pid,comm`), not by its arguments,
which a fork inherits. LTTng does not trace forks: `PLANNER_START=exec` starts each node as a
program of its own, as `ros2 launch` does.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import io
import multiprocessing
import os
import runpy
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO

# Modules that every node loads; together nine tenths of a second of one core.
COMMON = (
    "numpy",
    "scipy.sparse.csgraph",
    "rclpy.action",
    "rclpy.executors",
    "planner_msgs.action",
    "planner_msgs.srv",
    # What the first message of a process loads: with a parser of interfaces, a tenth of a second.
    "rosidl_generator_py",
    "planner.ros.agent_topics",
    "planner.ros.camera_input",
    "planner.ros.lifecycle",
    "planner.ros.memory_messages",
    "planner.world.house_checks",
    # Memory, planner, skills and judge read words: its tables are a fifth of a second in each.
    "planner.language.reading",
)
# Search paths that the loader has read when this process started.
_SEARCH_PATHS = ("PYTHONPATH", "LD_LIBRARY_PATH")
_PR_SET_NAME, _PR_SET_PDEATHSIG = 15, 1
_INHERITED = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Whether a program started with `environment` would load the same modules as this process."""
    asked = environment.get("PLANNER_START", "fork")
    same = all(environment.get(name) == os.environ.get(name) for name in _SEARCH_PATHS)
    return asked == "fork" and same and sys.platform == "linux"


def load_common() -> None:
    """Loads the shared modules once and freezes them for the garbage collector."""
    for name in COMMON:
        importlib.import_module(name)
    # Imported here: a supervisor of other programs needs no catalogue.
    from planner.world.catalogue import default_catalogue
    from planner.world.errors import PlannerError

    with contextlib.suppress(PlannerError):
        default_catalogue()  # A node that needs a broken one reports it.
    # A process's first line of the log searches all modules for the one that says it.
    inspect.getmodule(load_common.__code__)
    gc.collect()
    gc.freeze()


class Fork:
    """A child process that runs a node; has the interface the supervisor needs of a process.

    Attributes:
        pid: process id, also of its process group.
        stdout: its output, both streams.
    """

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Starts the process.

        Args:
            name: its command name.
            command: interpreter, program and arguments; the first is not used.
            environment: the whole environment.
        """
        (reads, writes), (born, unborn) = os.pipe(), os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process: BaseProcess = multiprocessing.get_context("fork").Process(
            target=become, args=(name, tuple(command), dict(environment), writes, os.getpid())
        )
        try:
            self._process.start()
        finally:
            os.close(writes)
            os.close(unborn)
        # The child closes its end once signal handlers and process group are set, so none is lost.
        with io.FileIO(born) as ended:
            ended.read()
        self.stdout: IO[bytes] = io.FileIO(reads)
        self.pid: int = self._process.pid or 0

    def wait(self) -> int:
        """Waits for its end; returns the exit status, or minus the signal number."""
        self._process.join()
        return self._process.exitcode or 0


def become(
    name: str, command: Sequence[str], environment: Mapping[str, str], output: int, parent: int
) -> None:
    """Makes this fork equivalent to a fresh interpreter with the program, and runs it.

    Args:
        name: its command name.
        command: interpreter, program and arguments; the first is not used.
        environment: the whole environment.
        output: file descriptor for both output streams.
        parent: the process with which it dies.
    """
    os.setsid()
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)
    _reset_signals()
    _open_streams(output)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(command[1:])
    sys.path[0] = str(Path(command[1]).parent)
    try:
        runpy.run_path(command[1], run_name="__main__")
    finally:
        # A fresh interpreter would finalize everything, a fork just stops. Nodes are in reference
        # cycles, and so are the DDS participant and its shared memory: peers would consider it
        # alive for another 20 s.
        gc.collect()


def _reset_signals() -> None:
    """Resets the parent's signal handlers; ignored signals stay ignored."""
    signal.set_wakeup_fd(-1)
    for number in _INHERITED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_streams(output: int) -> None:
    """Sets up standard streams as under a supervisor; closes everything else."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(
        io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True
    )
