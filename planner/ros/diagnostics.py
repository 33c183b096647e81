"""Names of statuses on `/diagnostics`, which is shared by all namespaces."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message

# The status that says whether the recorder writes what it receives.
RECORDER_STATUS = "recorder: bag"


def status_name(node: Node, name: str) -> str:
    """A status's name in the node's namespace: `bridge: world`, or `/left/bridge: world`."""
    namespace = str(node.get_namespace()).rstrip("/")
    return f"{namespace}/{name}" if namespace else name


def own_statuses(data: bytes, namespace: str) -> bytes | None:
    """A `DiagnosticArray` without the statuses of other namespaces, and names without this one.

    Args:
        data: the message in CDR.
        namespace: full name of the namespace.

    Returns:
        The message in CDR; None if no status is left.
    """
    message = deserialize_message(data, DiagnosticArray)
    kept = []
    for status in message.status:
        if status.name.startswith(f"{namespace}/"):
            status.name = status.name.removeprefix(f"{namespace}/")
        elif status.name.startswith("/"):
            continue
        kept.append(status)
    message.status = kept
    return bytes(serialize_message(message)) if kept else None
