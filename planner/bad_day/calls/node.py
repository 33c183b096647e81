"""The operator's calls of Trigger services, each with the time that its answer took."""

from __future__ import annotations

import itertools
import os
import threading
import time
from contextlib import suppress
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from std_srvs.srv import Trigger

from planner.bad_day.records import Asked, ended
from planner.network import confine

AGENT = "agent_0"
_LOOK_S = 0.02


class Operator:
    """A node in a thread of its own."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        confine(os.environ)
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("bad_day_operator", context=self._context)
        self._clients: dict[str, Any] = {}
        self._records: dict[int, Asked] = {}
        self._numbers = itertools.count()
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="operator", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def prepare(self, *names: str) -> None:
        """Finds services before they are needed."""
        for name in names:
            if name not in self._clients:
                self._clients[name] = self._node.create_client(Trigger, f"/{AGENT}/{name}")

    def reaches(self, name: str, seconds: float) -> bool:
        """Whether a service is there within so long."""
        self.prepare(name)
        return bool(self._clients[name].wait_for_service(timeout_sec=seconds))

    def call(self, name: str) -> int:
        """Calls a service and returns at once; the number of the call."""
        self.prepare(name)
        number = next(self._numbers)
        asked = Asked("operator", number, "service", name, time.time())
        self._records[number] = asked
        self._clients[name].call_async(Trigger.Request()).add_done_callback(
            lambda done: self._on_answer(asked, done.result())
        )
        return number

    def _on_answer(self, asked: Asked, answer: Any) -> None:
        self._records[asked.number] = ended(
            asked, time.time(), answer.message, success=answer.success
        )

    def wait(self, number: int, seconds: float) -> Asked:
        """A call with its answer, or without one where none came within so long."""
        until_s = time.monotonic() + seconds
        while self._records[number].ended_s is None and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        return self._records[number]

    @property
    def records(self) -> list[Asked]:
        """All calls so far."""
        return list(self._records.values())

    def close(self) -> None:
        """Leaves the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(2.0)
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
