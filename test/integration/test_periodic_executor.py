"""Whoever waits for the end of a command keeps nobody else from being heard."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from planner.network import confine
from planner.ros.agent_topics import CommandReply, TriggerServices
from planner.ros.clients import PeriodicExecutor

WAIT_S = 20.0


class Slow(Node):
    """Takes for ever to switch on, and stops at once; each beat asks for another wait."""

    def __init__(self, context: Context) -> None:
        super().__init__("slow", context=context)
        self._waits = itertools.cycle((0.01, 0.011, 0.012))
        self.services_offered = TriggerServices(
            self, "agent_0", ("power_on", "stop"), self._command
        )
        self.pending: Future[CommandReply] = Future()
        self.begun = threading.Event()
        self.beats = 0

    def run_due(self) -> float:
        self.beats += 1
        return next(self._waits)

    def _command(self, command: str) -> CommandReply | Future[CommandReply]:
        if command == "stop":
            self.pending.set_result((False, "stop took its place"))
            return True, "stopped"
        self.begun.set()
        return self.pending


@contextmanager
def spinning(node: Node, executor: SingleThreadedExecutor) -> Iterator[None]:
    executor.add_node(node)

    def spin() -> None:
        try:
            while rclpy.ok(context=node.context):
                executor.spin_once(0.1)
        except ExternalShutdownException:
            pass

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        node.context.try_shutdown()
        thread.join(WAIT_S)


def test_a_stop_is_heard_while_another_service_waits_for_its_end() -> None:
    confine(os.environ)
    contexts = [Context(), Context()]
    for context in contexts:
        rclpy.init(context=context)
    slow = Slow(contexts[0])
    caller = rclpy.create_node("caller", context=contexts[1])
    beating = PeriodicExecutor(context=contexts[0])
    with spinning(slow, beating), spinning(caller, SingleThreadedExecutor(context=contexts[1])):
        answered: dict[str, threading.Event] = {}
        futures = {}
        for name in ("power_on", "stop"):
            client = caller.create_client(Trigger, f"/agent_0/{name}")
            assert client.wait_for_service(WAIT_S)
            answered[name] = threading.Event()
            futures[name] = client.call_async(Trigger.Request())
            futures[name].add_done_callback(lambda _done, name=name: answered[name].set())
            if name == "power_on":
                assert slow.begun.wait(WAIT_S)
        assert answered["stop"].wait(WAIT_S)
        assert answered["power_on"].wait(WAIT_S)
        assert not futures["power_on"].result().success
