"""A language-model server that can be slow or dead; its replies make robots drive around."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_ENTITY = re.compile(r"Object\.(\d+)")
# After this many turns its reply is Done.
_TURNS = 6


class ModelServer:
    """Streams chat completions: visits objects named in the prompt, then says Done."""

    def __init__(self, seed: int) -> None:
        self.delay_s = 0.0
        self._chance = random.Random(seed)
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.revive()

    @property
    def url(self) -> str:
        """The value for a planner's `model_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    def kill(self) -> None:
        """Refuses connections from now on."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def revive(self) -> None:
        """Serves again, on the same port."""
        if self._server is not None:
            return
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                time.sleep(outer.delay_s)
                with suppress(OSError):
                    self._say(outer.reply(body["messages"]))

            def _say(self, reply: str) -> None:
                self.close_connection = True
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                choice = {"index": 0, "delta": {"content": reply}, "finish_reason": "stop"}
                event = json.dumps({"choices": [choice]})
                self.wfile.write(f"data: {event}\n\ndata: [DONE]\n\n".encode())

            def log_message(self, *_args: object) -> None:
                """Logs nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reply(self, messages: list[dict[str, object]]) -> str:
        """The next reply in a dialogue."""
        said = sum(message["role"] == "assistant" for message in messages)
        found = _ENTITY.findall(" ".join(str(message["content"]) for message in messages))
        if said >= _TURNS or not found:
            return "Done[]\nAssigned!"
        return f"Navigate[Object.{self._chance.choice(found)}]\nAssigned!"
