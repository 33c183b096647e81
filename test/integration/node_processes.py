"""Our nodes as processes, forked from a server that has loaded what all of them need.

A test process itself runs ROS and its threads, of which no fork would be sound. The programs of
`nodes/` run as `planner up` runs them; the tests of the workspace start them as programs.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

from planner.environment import ros_environment
from planner.warm_start import become
from planner.world.topics import NAMESPACE_REMAPPINGS

# How long a node may take to end.
END_S = 60.0
NODES = Path(__file__).resolve().parents[2] / "nodes"
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["all_nodes"])


@cache
def _start_server() -> None:
    # It finds modules by its environment, and says nothing of what it does not find.
    with mock.patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parent)):
        forkserver.ensure_running()


class Node:
    """A node's process, as `subprocess.Popen` would have it; its log is kept in `lines`."""

    def __init__(
        self,
        executable: str,
        environment: Mapping[str, str] | None = None,
        *,
        namespace: str = "/",
        **parameters: object,
    ) -> None:
        """Starts a program of `nodes/` with parameters and more of an environment."""
        _start_server()
        reads, writes = _CONTEXT.Pipe(duplex=False)
        given = [("-p", f"{name}:={value}") for name, value in parameters.items()]
        moves = [("__ns", namespace), *NAMESPACE_REMAPPINGS] if namespace != "/" else []
        given += [("-r", f"{name}:={other}") for name, other in moves]
        words = ("python", str(NODES / executable), "--ros-args", *itertools.chain(*given))
        whole = {**ros_environment(os.environ), **(environment or {})}
        self._process = _CONTEXT.Process(target=_run, args=(executable, words, whole, writes))
        self._process.start()
        writes.close()
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, args=(reads,), daemon=True)
        self._reader.start()

    def _read(self, reads: Connection) -> None:
        with open(os.dup(reads.fileno()), encoding="utf-8", errors="replace") as said:  # noqa: PTH123
            reads.close()
            self.lines.extend(said)

    @property
    def log(self) -> str:
        return "".join(self.lines)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Its status, once all that it said is in the log."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        self._reader.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@contextmanager
def ending(node: Node) -> Iterator[Node]:
    """A node that is asked to end with the `with`."""
    try:
        yield node
    finally:
        node.send_signal(signal.SIGINT)
        try:
            node.wait(END_S)
        except subprocess.TimeoutExpired:
            node.kill()
            raise
        finally:
            # Shown by pytest where the test failed.
            print(node.log)


@contextmanager
def running(
    executable: str,
    environment: Mapping[str, str] | None = None,
    *,
    namespace: str = "/",
    **parameters: object,
) -> Iterator[Node]:
    """A node from the beginning of the `with` to its end; arguments as of `Node`."""
    with ending(Node(executable, environment, namespace=namespace, **parameters)) as node:
        yield node


def _run(
    name: str, words: Sequence[str], environment: Mapping[str, str], writes: Connection
) -> None:
    become(name, words, environment, writes.fileno(), os.getppid())
