"""Starts the watchdog process and tells it that the bridge is alive."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

from sim_bridge.ros.options import RosOptions

# One byte at most so often: the bridge is alive, and the robot moves or rests.
EVERY_S = 0.1
MOVES, RESTS, GOODBYE = b"m", b"r", b"q"


class DeadMan:
    """Goals of Nav2 and MoveIt do not expire: a process of its own cancels them.

    It acts when it has not been told for `sim_bridge.ros.dead_man.node.SILENT_S` that the bridge is
    alive while the robot moves, also when the bridge was killed or stopped.
    """

    def __init__(self, options: RosOptions) -> None:
        """Starts the process."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sim_bridge.ros.dead_man.node", options.model_dump_json()],
            stdin=subprocess.PIPE,
            # Ctrl-C reaches the bridge, which closes this one in its turn.
            start_new_session=True,
        )
        self._told_s = 0.0
        if self._process.stdin is not None:
            os.set_blocking(self._process.stdin.fileno(), False)

    def alive(self, *, moves: bool) -> None:
        """Tells that the bridge is alive; never waits."""
        now_s = time.monotonic()
        if now_s - self._told_s >= EVERY_S:
            self._told_s = now_s
            self._tell(MOVES if moves else RESTS)

    @property
    def runs(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def _tell(self, word: bytes) -> None:
        pipe = self._process.stdin
        if pipe is not None:
            # A full pipe is a watchdog that hangs; `runs` tells of one that died.
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ValueError):
                os.write(pipe.fileno(), word)

    def close(self) -> None:
        """Ends the process, which then stops nothing."""
        self._tell(GOODBYE)
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
