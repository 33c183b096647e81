"""Model servers that are away, restarted or mad, and the task-planner node that asks them."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest
from bridge_harness import Client
from planner_harness import Instructions, Start
from planner_msgs.msg import PlannerTrace

from planner.world.topics import InstructionCode


@pytest.mark.slow
def test_a_model_that_is_not_there(alone: Start, client: Client) -> None:
    """Its server may come back: the planner waits, says so, and gives up after `model_wait`."""
    alone(planner="react", model="tiny", model_url="http://127.0.0.1:9/v1", model_wait=15.0)
    instructions = Instructions(client)
    result = instructions.follow("Tidy up.")
    assert result.code == InstructionCode.MODEL_FAULT
    assert "127.0.0.1:9" in result.text
    assert any(f.plan.startswith("waiting for model: ") for f in instructions.feedback)


def words_event(words: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": words}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


class Model(BaseHTTPRequestHandler):
    """Says the next of the server's replies, by how much was said before in the dialogue."""

    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = sum(message["role"] == "assistant" for message in body["messages"])
        self.close_connection = True
        with suppress(OSError):
            self.answer("Task: " in body["messages"][-1]["content"] or said > 0, said)

    def answer(self, is_asked: bool, said: int) -> None:
        """`is_asked`: by the planner, else by who finds out what the server can do."""
        if is_asked and said >= len(self.server.replies):
            # The server goes down with this request in its hands.
            self.server.asked_too_much.set()
            self.server.stopped.wait(60)
            return
        self.begin()
        reply = self.server.replies[said] if is_asked else "?"
        self.wfile.write(words_event(reply, "stop") + b"data: [DONE]\n\n")

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


class Babbler(Model):
    """A model that says things that are no calls."""

    def answer(self, is_asked: bool, said: int) -> None:
        self.begin()
        self.wfile.write(words_event("\x00 $(reboot) {{{ 猫 \n", "stop") + b"data: [DONE]\n\n")


class Endless(Model):
    """A model that never ends."""

    def answer(self, is_asked: bool, said: int) -> None:
        self.begin()
        while True:
            self.wfile.write(words_event("and then "))
            time.sleep(0.01)


class ModelServer(ThreadingHTTPServer):
    """A model's server, from its start to the end of the `with`."""

    daemon_threads = True

    def __init__(self, *replies: str, port: int = 0, kind: type[Model] = Model) -> None:
        super().__init__(("127.0.0.1", port), kind)
        self.replies = replies
        self.asked_too_much, self.stopped = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()
        self.stopped.set()


@pytest.mark.parametrize("kind", [Babbler, Endless])
def test_a_model_that_babbles_ends_the_instruction_and_nothing_is_done(
    alone: Start, client: Client, kind: type[Model]
) -> None:
    with ModelServer(kind=kind) as server:
        _, begun = alone(
            planner="react", model="tiny", model_url=server.url, model_deadline=3.0, model_wait=5.0
        )
        result = Instructions(client).follow("Tidy up.", max_calls=4)
        ends = (InstructionCode.MODEL_FAULT, InstructionCode.GAVE_UP, InstructionCode.CALL_LIMIT)
        assert result.code in ends, result.text
        assert result.text
        assert not begun


def test_a_server_that_goes_down_between_two_calls_is_waited_for_and_nothing_is_lost(
    alone: Start, client: Client
) -> None:
    traces = client.listen(PlannerTrace, "/planner/trace", 100)
    with ModelServer("Navigate[Object.100]\nAssigned!") as server:
        node, begun = alone(planner="react", model="tiny", model_url=server.url)
        instructions = Instructions(client)
        handle = instructions.send("Go to the table.", agents=["agent_0"])
        client.wait(server.asked_too_much.is_set, "the second question")
    client.wait(lambda: waits(instructions), "the planner's word that it waits")
    assert len(begun) == 1
    replies = ("Navigate[Object.100]\nAssigned!", "Navigate[Object.101]\nAssigned!", "Done[]")
    with ModelServer(*replies, port=server.port):
        result, _ = instructions.result(handle)
    assert result.code == InstructionCode.DONE, node.log
    # The dialogue goes on where it was: nothing is done twice, nothing is told twice.
    assert len({call for _, call in begun}) == len(begun) == 2
    client.wait(lambda: len(traces) == 3, "the traces")
    assert [call for trace in traces for call in trace.calls][2] == "Done[]"
    assert all(b.prompt.startswith(a.prompt) for a, b in pairwise(traces))
    assert not waits(instructions, last=True), "it said that the model is back"


def waits(instructions: Instructions, last: bool = False) -> bool:
    plans = [f.plan for f in instructions.feedback][-1 if last else 0 :]
    return any(plan.startswith("waiting for model: ") for plan in plans)
