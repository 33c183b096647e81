"""Collects the parameters of all nodes in a namespace, once per node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

ParameterValues = Mapping[str, object]
# Attempts before a node is given up: it may have no parameter services.
MAX_TRIES = 20


class _ParameterRequest:
    """Requests one node's parameter names, then their values."""

    def __init__(self, node: Node, name: str, on_answer: Callable[[ParameterValues], None]) -> None:
        self._node, self._on_answer = node, on_answer
        self._list: Client[Any, Any] = node.create_client(ListParameters, f"{name}/list_parameters")
        self._get: Client[Any, Any] = node.create_client(GetParameters, f"{name}/get_parameters")
        self.tries = 0
        self._asked = False

    def ask(self) -> None:
        """Sends the request once the node's services are available."""
        self.tries += 1
        if not self._asked and self._list.service_is_ready() and self._get.service_is_ready():
            self._asked = True
            self._list.call_async(ListParameters.Request()).add_done_callback(self._on_names)

    def close(self) -> None:
        """Removes the clients."""
        self._node.destroy_client(self._list)
        self._node.destroy_client(self._get)

    def _on_names(self, listed: Future[Any]) -> None:
        answer = listed.result()
        names = sorted(answer.result.names) if answer is not None else []
        asked = self._get.call_async(GetParameters.Request(names=names))
        asked.add_done_callback(lambda got: self._on_values(names, got))

    def _on_values(self, names: list[str], got: Future[Any]) -> None:
        answer = got.result()
        values = [parameter_value_to_python(v) for v in answer.values] if answer is not None else []
        self._on_answer(dict(zip(names, values, strict=False)))


class ParameterCollector:
    """Collects parameters of nodes as they appear.

    Attributes:
        found: parameters by the nodes' full names.
    """

    def __init__(self, node: Node) -> None:
        """Sends no requests yet.

        Args:
            node: sends the requests; its own parameters are known at once.
        """
        self._node = node
        self._requests: dict[str, _ParameterRequest] = {}
        own = node.get_parameters_by_prefix("")
        self.found: dict[str, ParameterValues] = {
            node.get_fully_qualified_name(): {name: own[name].value for name in sorted(own)}
        }

    def look(self) -> None:
        """Requests parameters of new nodes; to be called periodically."""
        own = self._node.get_namespace().rstrip("/")
        for name, namespace in self._node.get_node_names_and_namespaces():
            if not f"{namespace.rstrip('/')}/".startswith(f"{own}/"):
                continue
            full = f"{namespace.rstrip('/')}/{name}"
            if name.startswith("_") or full in self.found or full in self._requests:
                continue
            self._requests[full] = _ParameterRequest(self._node, full, self._collector(full))
        for full, request in list(self._requests.items()):
            if full in self.found or request.tries >= MAX_TRIES:
                self.found.setdefault(full, {})
                del self._requests[full]
                request.close()
            else:
                request.ask()

    @property
    def settled(self) -> bool:
        """Whether no request is pending."""
        return not self._requests

    def _collector(self, full: str) -> Callable[[ParameterValues], None]:
        def keep(values: ParameterValues) -> None:
            self.found[full] = values

        return keep
