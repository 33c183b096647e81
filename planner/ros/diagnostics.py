"""Names of statuses on `/diagnostics`, which all namespaces of a ROS graph share."""

from __future__ import annotations

from rclpy.node import Node

# The bridge's, which says in what house and episode the world is.
BRIDGE_WORLD = "bridge: world"


def status_name(node: Node, name: str) -> str:
    """A status's name in the node's namespace: `bridge: world`, or `/left/bridge: world`."""
    namespace = str(node.get_namespace()).rstrip("/")
    return f"{namespace}/{name}" if namespace else name
