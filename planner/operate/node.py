"""Calls an agent's Trigger services; implements `planner operate`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import rclpy
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from planner.network import confine
from planner.ros.clients import client_node
from planner.ros.guard import GuardedExecutor
from planner.security.enclave import join_as
from planner.security.policy import OPERATOR
from planner.supervision import EXIT_FAILED, EXIT_OK
from planner.world import topics

POLL_S = 0.1


def operate(agent: str, commands: Sequence[str], *, wait_s: float, namespace: str = "/") -> int:
    """Calls services in order, until one is refused.

    Args:
        agent: whose.
        commands: names of its Trigger services.
        wait_s: for each answer, wall seconds.
        namespace: of the stack.

    Returns:
        The process's exit status.
    """
    confine(os.environ)
    join_as(os.environ, OPERATOR, namespace)
    # Keeps Ctrl-C a KeyboardInterrupt.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = client_node(f"operate_{os.getpid()}", namespace)
    executor = GuardedExecutor()
    executor.add_node(node)
    try:
        for command in commands:
            client: Any = node.create_client(Trigger, topics.of_agent(agent, command))
            good, text = _call(executor, client, wait_s)
            print(f"{agent}: {command}: {text}", flush=True)
            if not good:
                return EXIT_FAILED
        return EXIT_OK
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()


def _call(executor: GuardedExecutor, client: Any, wait_s: float) -> tuple[bool, str]:
    """Whether a service said yes, and its words."""
    ends_s = time.monotonic() + wait_s
    while not client.service_is_ready():
        if time.monotonic() > ends_s:
            return False, f"nobody serves {client.srv_name}; is the stack running?"
        executor.spin_once(timeout_sec=POLL_S)
    answer = client.call_async(Trigger.Request())
    while not answer.done():
        if time.monotonic() > ends_s:
            return False, f"no answer within {wait_s:g} s"
        executor.spin_once(timeout_sec=POLL_S)
    reply = answer.result()
    return bool(reply.success), str(reply.message)
