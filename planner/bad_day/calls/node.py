"""The operator's calls of Trigger services, with the time each answer took."""

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

from planner.bad_day.records import Request, ended
from planner.network import confine

AGENT = "agent_0"
_POLL_S = 0.02


class Operator:
    """A node in its own thread."""

    def __init__(self, domain: int) -> None:
        self._context = Context()
        confine(os.environ)
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("bad_day_operator", context=self._context)
        self._clients: dict[str, Any] = {}
        self._records: dict[int, Request] = {}
        self._numbers = itertools.count()
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._spin, name="operator", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            self._executor.spin()

    def prepare(self, *names: str) -> None:
        """Creates service clients ahead of use, so that discovery is done by then."""
        for name in names:
            if name not in self._clients:
                self._clients[name] = self._node.create_client(Trigger, f"/{AGENT}/{name}")

    def reaches(self, name: str, seconds: float) -> bool:
        """Whether a service becomes available within the timeout."""
        self.prepare(name)
        return bool(self._clients[name].wait_for_service(timeout_sec=seconds))

    def call(self, name: str) -> int:
        """Calls a service without waiting; returns the number of the call."""
        self.prepare(name)
        number = next(self._numbers)
        request = Request("operator", number, "service", name, time.time())
        self._records[number] = request
        self._clients[name].call_async(Trigger.Request()).add_done_callback(
            lambda done: self._on_answer(request, done.result())
        )
        return number

    def _on_answer(self, request: Request, answer: Any) -> None:
        self._records[request.number] = ended(
            request, time.time(), answer.message, success=answer.success
        )

    def wait(self, number: int, seconds: float) -> Request:
        """A call, with its answer if that came within the timeout."""
        until_s = time.monotonic() + seconds
        while self._records[number].ended_s is None and time.monotonic() < until_s:
            time.sleep(_POLL_S)
        return self._records[number]

    @property
    def records(self) -> list[Request]:
        """All calls so far."""
        return list(self._records.values())

    def close(self) -> None:
        """Leaves the graph."""
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(2.0)
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
