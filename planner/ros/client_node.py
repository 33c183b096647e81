"""Nodes of commands that talk to a running stack."""

from __future__ import annotations

import rclpy
from rclpy.node import Node

from planner.ros.known_programs import prove
from planner.world.topics import NAMESPACE_REMAPPINGS


def client_node(name: str, namespace: str) -> Node:
    """A node in a stack's namespace, with that stack's clock and frames.

    Args:
        name: of the node.
        namespace: full name of the namespace; "" or `/` = none.

    Raises:
        PlannerError: if the network is open and there is no token (`planner.network.token_of`).
    """
    words = [word for pair in NAMESPACE_REMAPPINGS for word in ("-r", ":=".join(pair))]
    node = rclpy.create_node(name, namespace=namespace, cli_args=["--ros-args", *words])
    prove(node)
    return node
