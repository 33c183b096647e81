"""Which DDS topics each node of a ROS domain publishes and subscribes, gathered over a while."""

from __future__ import annotations

from collections import defaultdict

from rclpy.node import Node

# (publishes, subscribes) by the node's full name.
Endpoints = dict[str, tuple[set[str], set[str]]]


class DdsGraph:
    """Gathers; a node that is not yet or no longer there is no mistake."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.found: Endpoints = defaultdict(lambda: (set(), set()))

    def look(self) -> set[str]:
        """Notes what is there now; returns the names of the nodes."""
        here = set()
        for name, namespace in self._node.get_node_names_and_namespaces():
            if (name, namespace) == (self._node.get_name(), self._node.get_namespace()):
                continue
            full = f"{namespace.rstrip('/')}/{name}"
            here.add(full)
            for slot, ask in enumerate(
                (
                    self._node.get_publisher_names_and_types_by_node,
                    self._node.get_subscriber_names_and_types_by_node,
                )
            ):
                try:
                    topics = ask(name, namespace, no_demangle=True)
                except Exception as error:
                    # rclpy gives no class of its own for a node that has gone meanwhile.
                    if "not" not in str(error).lower():
                        raise
                    continue
                self.found[full][slot].update(topic for topic, _ in topics)
        return here
