"""The memory node in its own process, what it tells, and a server for models that see."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bridge_harness import LATCHED, Client
from diagnostic_msgs.msg import DiagnosticArray
from nursery import Node
from planner_msgs.msg import EntityList, MemoryUpdate, Operation, WorldGraph
from planner_msgs.srv import EditMemory
from rclpy.qos import QoSProfile

from planner.ros.memory_messages import belief_record
from planner.world.belief import Belief

EVENTS = QoSProfile(depth=100)


@contextmanager
def memory_node(**parameters: object) -> Iterator[Node]:
    process = Node("memory", **parameters)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


class Listener:
    """Follows what the memory publishes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.updates = client.listen(MemoryUpdate, "/memory/updates", EVENTS)
        self.lists = client.listen(EntityList, "/memory/entities", LATCHED)
        self.graphs = client.listen(WorldGraph, "/world_graph", LATCHED)

    def belief(self) -> Belief:
        self.client.wait(lambda: self.graphs, "/world_graph")
        return belief_record(self.graphs[-1])

    def until_known(self, name: str) -> Belief:
        self.client.wait(lambda: self.graphs and name in self.belief().nodes, name)
        return self.belief()


def edit(client: Client, *operations: Operation) -> Any:
    return client.call(EditMemory, "/memory/edit", source="test", operations=list(operations))


def counts(client: Client, statuses: list[DiagnosticArray]) -> dict[str, str]:
    """The newest values of the memory's diagnostics."""
    client.wait(lambda: statuses, "/diagnostics")
    found = [s for m in statuses for s in m.status if s.name == "memory: entities"]
    return {value.key: value.value for value in found[-1].values} if found else {}


@contextmanager
def model_server(answers: Sequence[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives these answers in turn, the last one for ever."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = answers[min(len(got), len(answers)) - 1]
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": said},
            }
            reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
            body = json.dumps({**reply, "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", got
    finally:
        server.shutdown()
        server.server_close()
