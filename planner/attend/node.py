"""Sends heartbeats for agents; implements `planner attend`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import rclpy
from rclpy.signals import SignalHandlerOptions

from planner.command_line import termination_requested
from planner.network import confine
from planner.ros.clients import client_node
from planner.ros.guard import GuardedExecutor
from planner.ros.heartbeat import HeartbeatPublisher, safety_topic, skill_topic
from planner.security.enclave import join_as
from planner.security.policy import OPERATOR
from planner.supervision import EXIT_OK
from planner.world.errors import PlannerError

POLL_S = 0.2
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def attend(agents: Sequence[str], *, through_skills: bool, namespace: str = "/") -> int:
    """Attends agents until a signal ends it.

    Args:
        agents: their names.
        through_skills: whether the skill executor relays the heartbeats, see `HeartbeatPublisher`.
        namespace: of the stack.

    Returns:
        The process's exit status.

    Raises:
        PlannerError: for an invalid agent name, or if keys do not allow the namespace.
    """
    for agent in agents:
        if not _NAME.fullmatch(agent):
            raise PlannerError(f"expected an agent's name such as agent_0, got {agent!r}")
    confine(os.environ)
    join_as(os.environ, OPERATOR, namespace)
    # Sending the goodbye needs a running ROS context.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = client_node(f"attend_{os.getpid()}", namespace)
    executor = GuardedExecutor()
    executor.add_node(node)
    publisher = HeartbeatPublisher(node, through_skills=through_skills)
    try:
        with termination_requested() as ends:
            publisher.attend(agents)
            print(f"attending {', '.join(agents)} until Ctrl-C", flush=True)
            topic = skill_topic if through_skills else safety_topic
            printed: dict[str, list[str]] = {}
            while not ends():
                executor.spin_once(timeout_sec=POLL_S)
                for agent in agents:
                    subscribers = node.get_subscriptions_info_by_topic(topic(agent))
                    names = sorted({subscriber.node_name for subscriber in subscribers})
                    if names != printed.get(agent):
                        print(
                            f"{agent}: received by {', '.join(names) or 'nobody yet'}", flush=True
                        )
                    printed[agent] = names
    finally:
        publisher.destroy()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return EXIT_OK
