"""Start nodes as forks of this process, which has loaded what all of them need.

Loading Python's modules is most of what the start of a node costs, and it is the same modules
for each. Loaded once and forked, a whole run starts in about half the time, and a node that
died is back at once.

Which of them a process is, `ps` tells by its command name (`ps -o pid,comm`), not by its
arguments, which a fork has from this process. LTTng traces no forks: `PLANNER_START=exec` makes
each node a program of its own again, as `ros2 launch` does.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
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

# What every node loads, by what it takes: three quarters of a second of one core.
COMMON = (
    "numpy",
    "scipy.sparse.csgraph",
    "rclpy.action",
    "rclpy.executors",
    "planner_msgs.action",
    "planner_msgs.srv",
    "planner.ros.agent_topics",
    "planner.ros.camera_input",
    "planner.ros.frame_tree",
    "planner.ros.lifecycle",
    "planner.ros.memory_messages",
    "planner.world.house_checks",
)
# Lists of folders that the loader has read when this process began.
_SEARCHED = ("PYTHONPATH", "LD_LIBRARY_PATH")
_PR_SET_NAME, _PR_SET_PDEATHSIG = 15, 1
_INHERITED = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


def can_fork(environment: Mapping[str, str]) -> bool:
    """Whether what is loaded here is what a program started with `environment` would load."""
    asked = environment.get("PLANNER_START", "fork")
    same = all(environment.get(name) == os.environ.get(name) for name in _SEARCHED)
    return asked == "fork" and same and sys.platform == "linux"


def load_common() -> None:
    """Loads what all nodes need, once; the collector never looks at what it made."""
    for name in COMMON:
        importlib.import_module(name)
    # Not at the top: a supervisor of programs that are none of ours needs no catalogue.
    from planner.world.catalogue import default_catalogue
    from planner.world.errors import PlannerError

    # Whoever needs a catalogue that is wrong tells it.
    with contextlib.suppress(PlannerError):
        default_catalogue()
    gc.collect()
    gc.freeze()


class Fork:
    """A child that runs one of our programs; has what the supervisor needs of a process.

    Attributes:
        pid: its number, and that of its process group.
        stdout: what it prints, both streams.
    """

    def __init__(self, name: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Starts it.

        Args:
            name: the command name that it gets.
            words: interpreter, program and arguments; the first is not used.
            environment: the whole environment.
        """
        reads, writes = os.pipe()
        born, unborn = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._process: BaseProcess = multiprocessing.get_context("fork").Process(
            target=become, args=(name, tuple(words), dict(environment), writes, os.getpid())
        )
        try:
            self._process.start()
        finally:
            os.close(writes)
            os.close(unborn)
        # It closes its end once it heeds signals, in a group of its own: none is lost.
        with io.FileIO(born) as ended:
            ended.read()
        self.stdout: IO[bytes] = io.FileIO(reads)
        self.pid: int = self._process.pid or 0

    def wait(self) -> int:
        """Waits for its end; returns its status, for a signal its number below zero."""
        self._process.join()
        return self._process.exitcode or 0


def become(
    name: str, words: Sequence[str], environment: Mapping[str, str], output: int, parent: int
) -> None:
    """Turns this fork into what a fresh interpreter with the program would be, and runs it.

    Args:
        name: the command name that it gets.
        words: interpreter, program and arguments; the first is not used.
        environment: the whole environment.
        output: open file for both output streams.
        parent: process with which it dies.
    """
    os.setsid()
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)
    _heed_signals()
    _open_streams(output)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(words[1:])
    sys.path[0] = str(Path(words[1]).parent)
    try:
        runpy.run_path(words[1], run_name="__main__")
    finally:
        # A fresh interpreter would take everything apart at its end, a fork just stops. Nodes
        # are in cycles, and with them the DDS participant and its shared memory: others would
        # take it for alive for 20 s more.
        gc.collect()


def _heed_signals() -> None:
    """What the parent does on a signal is not for its child; what it ignores stays ignored."""
    signal.set_wakeup_fd(-1)
    for number in _INHERITED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _open_streams(output: int) -> None:
    """Standard streams as of a program under supervision; everything else is closed."""
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
