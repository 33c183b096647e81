"""A small model server on this machine, which answers each request as it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the server's next answer."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        answers = self.server.answers
        answer = answers[min(len(self.server.bodies), len(answers)) - 1]
        try:
            answer(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.server.hung_up += 1

    def begin(self, status: int = 200, kind: str = "text/event-stream", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = True

    def event(self, **content: Any) -> None:
        self.wfile.write(b"data: " + json.dumps(content).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    """Remembers what it was asked."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, Any]] = []
        self.hung_up = 0
        self.stopped = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


def says(*words: str, finish: str = "stop", **usage: Any) -> Answer:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        for word in words:
            handler.event(choices=[{"index": 0, "delta": {"content": word}}])
        handler.event(choices=[{"index": 0, "delta": {}, "finish_reason": finish}])
        if usage:
            handler.event(choices=[], usage=usage)
        handler.wfile.write(b"data: [DONE]\n\n")

    return answer
