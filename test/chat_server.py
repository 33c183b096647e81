"""HTTP servers that answer what is posted to them: any, and one of chat completions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/json"


@contextmanager
def posted(answer: Callable[[str, str, bytes], tuple[int, str, bytes]]) -> Iterator[str]:
    """Yields the URL of a server; `answer` gets path, type and body of each request.

    It returns status, type and body of the reply.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["Content-Length"]))
            status, kind, body = answer(self.path, self.headers["Content-Type"], asked)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def chat_server(
    answers: Sequence[str], status: int = 200
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Gives these answers in turn, the last one for ever; yields its URL and what it was asked.

    They are not streamed, as models that see are asked.
    """
    asked: list[dict[str, Any]] = []

    def answer(path: str, kind: str, body: bytes) -> tuple[int, str, bytes]:
        asked.append(json.loads(body))
        said = answers[min(len(asked), len(answers)) - 1]
        message = {"role": "assistant", "content": said}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}]
        reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
        return status, JSON, json.dumps({**reply, "choices": choices}).encode()

    with posted(answer) as url:
        yield url, asked
