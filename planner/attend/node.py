"""Attends agents from a process of its own; `planner attend` is its command."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from planner.exit_status import EXIT_OK
from planner.network import confine
from planner.ros.client_node import client_node
from planner.ros.heartbeat import HeartbeatPublisher, safety_topic, skill_topic
from planner.ros.interrupts import termination_requested
from planner.security.enclave import act_as
from planner.security.policy import OPERATOR
from planner.world.errors import PlannerError

LOOK_S = 0.2
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def attend(agents: Sequence[str], *, through_skills: bool, namespace: str = "/") -> int:
    """Attends these agents until a signal asks to end.

    Args:
        agents: their names.
        through_skills: whether the skill executor relays, see `HeartbeatPublisher`.
        namespace: of the stack.

    Returns:
        The process's exit status.

    Raises:
        PlannerError: for a name that is none of an agent, or where keys do not fit the namespace.
    """
    for agent in agents:
        if not _NAME.fullmatch(agent):
            raise PlannerError(f"{agent!r} is no agent's name; expected one such as agent_0")
    confine(os.environ)
    act_as(os.environ, OPERATOR, namespace)
    # The goodbye takes a ROS that still runs.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = client_node(f"attend_{os.getpid()}", namespace)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    publisher = HeartbeatPublisher(node, through_skills=through_skills)
    try:
        with termination_requested() as ends:
            publisher.attend(agents)
            print(f"attends {', '.join(agents)} until Ctrl-C", flush=True)
            topic = skill_topic if through_skills else safety_topic
            told: dict[str, list[str]] = {}
            while not ends():
                executor.spin_once(timeout_sec=LOOK_S)
                for agent in agents:
                    ears = node.get_subscriptions_info_by_topic(topic(agent))
                    names = sorted({ear.node_name for ear in ears})
                    if names != told.get(agent):
                        print(f"{agent}: heard by {', '.join(names) or 'nobody yet'}", flush=True)
                    told[agent] = names
    finally:
        publisher.destroy()
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return EXIT_OK
