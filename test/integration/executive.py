"""An executive for tests: it attends agents from a thread of its own, until it is told to hang."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from planner.ros.heartbeat import HeartbeatPublisher


class Executive:
    """Sends heartbeats while `lives` is set."""

    def __init__(self, *, through_skills: bool = False) -> None:
        self.lives = threading.Event()
        self.lives.set()
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("executive", context=self.context)
        self.publisher = HeartbeatPublisher(
            self.node, through_skills=through_skills, is_alive=self.lives.is_set
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)

    def begin(self, *agents: str) -> None:
        self.publisher.attend(agents)
        self._thread.start()

    def leave(self) -> None:
        self.executor.create_task(self.publisher.attend, ())

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except ExternalShutdownException:
            return

    def close(self) -> None:
        self.executor.shutdown()
        self._thread.join(5)
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@contextmanager
def attending(*agents: str, through_skills: bool = False) -> Iterator[Executive]:
    """An executive of these agents for as long as the `with` lasts."""
    made = Executive(through_skills=through_skills)
    made.begin(*agents)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def attend_command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`planner attend` in a process of its own."""
    command = [sys.executable, "-m", "planner.cli", "attend", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
