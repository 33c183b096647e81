"""The client of OpenAI-compatible servers against a real HTTP server on this machine."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from model_server import Answer, Handler, Server, says

from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelError,
    ModelUnavailableError,
    Request,
    Speaker,
)
from planner.models.model_choice import Retries, RetryingModel
from planner.models.openai_compatible import Dialect, OpenAiCompatible

HELLO = (Message(Speaker.USER, "hello"),)
FAST = Retries(max_count=2, first_wait_s=0.01, max_wait_s=0.05)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.stopped = True
    made.shutdown()
    made.server_close()


def status(code: int, **headers: str) -> Answer:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin(code, "application/json", **headers)
        handler.wfile.write(b'{"error": {"message": "no"}}')

    return answer


def raw(data: bytes, kind: str = "text/event-stream") -> Answer:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin(kind=kind)
        handler.wfile.write(data)

    return answer


def complete(server: Server, *answers: Answer, **more: Any) -> Completion:
    server.answers = list(answers)

    async def ask() -> Completion:
        plain = OpenAiCompatible(server.url, "tiny", dialect=more.pop("dialect", Dialect.VLLM))
        model = RetryingModel(plain, retries=FAST)
        try:
            return await model.complete(Request(HELLO, **({"deadline_s": 30.0} | more)))
        finally:
            await model.close()

    return asyncio.run(ask())


@pytest.mark.slow
def test_an_answer_with_its_usage_and_timings(server: Server) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    answer = complete(server, says("Navigate[", "Object.100]\n", **usage))
    assert answer.text == "Navigate[Object.100]\n"
    assert answer.finish == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.cached_tokens) == (100, 64)
    assert answer.usage.reply_tokens == 7
    assert 0 < answer.timings.first_token_s <= answer.timings.total_s < 5


@pytest.mark.slow
def test_what_is_sent(server: Server) -> None:
    grammar = 'root ::= "a"'
    complete(server, says("a"), grammar=grammar, stop=("Assigned!",), max_tokens=9, seed=3)
    (body,) = server.bodies
    assert body["model"] == "tiny"
    assert body["messages"] == [{"role": "user", "content": "hello"}]
    assert body["structured_outputs"] == {"grammar": grammar}
    assert (body["stop"], body["max_tokens"], body["seed"]) == (["Assigned!"], 9, 3)
    assert body["temperature"] == 0.0
    assert body["stream"] is True


@pytest.mark.slow
def test_a_server_that_does_not_stream(server: Server) -> None:
    whole = {
        "choices": [{"message": {"content": "Done[]"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    }
    text = json.dumps(whole, indent=1).encode()
    answer = complete(server, raw(text, "application/json"))
    assert (answer.text, answer.usage.prompt_tokens) == ("Done[]", 5)


@pytest.mark.slow
@pytest.mark.parametrize("code", [500, 502, 503, 429])
def test_errors_that_pass_are_tried_again(server: Server, code: int) -> None:
    answer = complete(server, status(code), status(code), says("hi"))
    assert answer.text == "hi"
    assert len(server.bodies) == 3


@pytest.mark.slow
def test_errors_for_ever_end_after_bounded_tries(server: Server) -> None:
    with pytest.raises(ModelError, match=r"after 3 tries: .*status 500"):
        complete(server, status(500))
    assert len(server.bodies) == 3


@pytest.mark.slow
def test_a_refusal_is_not_repeated(server: Server) -> None:
    with pytest.raises(ModelError, match="refused the request with status 400"):
        complete(server, status(400))
    assert len(server.bodies) == 1


@pytest.mark.slow
def test_the_server_may_ask_for_patience(server: Server) -> None:
    begin = time.monotonic()
    complete(server, status(429, retry_after="0.05"), says("hi"))
    assert time.monotonic() - begin >= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"data: this is no json\n\n",
        b"data: [1, 2, 3]\n\n",
        b'data: {"choices": "none"}\n\n',
        b"<html>it works</html>",
        b"\x00\xff\xfe\x80" * 100,
        b"data: {\n\n",
        b"",
        b"data: [DONE]\n\n",
    ],
)
def test_garbage_is_tried_again_and_then_told(server: Server, data: bytes) -> None:
    assert complete(server, raw(data), says("hi")).text == "hi"
    with pytest.raises(ModelError, match="after 3 tries"):
        complete(server, raw(data))


@pytest.mark.slow
def test_a_cut_answer_is_no_answer(server: Server) -> None:
    def cut(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        handler.event(choices=[{"index": 0, "delta": {"content": "Navig"}}])
        handler.connection.close()

    assert complete(server, cut, says("hi")).text == "hi"
    with pytest.raises(ModelError, match=r"cut off|broke"):
        complete(server, cut)


def never_ending(handler: Handler, body: dict[str, Any]) -> None:
    handler.begin()
    while not handler.server.stopped:
        handler.event(choices=[{"index": 0, "delta": {"content": "blah "}}])
        time.sleep(0.01)


def endless_line(handler: Handler, body: dict[str, Any]) -> None:
    handler.begin()
    while not handler.server.stopped:
        handler.wfile.write(b"x" * 100_000)


def silent(handler: Handler, body: dict[str, Any]) -> None:
    while not handler.server.stopped:
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [never_ending, silent])
def test_the_deadline_ends_what_never_ends(server: Server, answer: Answer) -> None:
    begin = time.monotonic()
    with pytest.raises(ModelError, match=r"tiny: no complete answer within 0\.5 s"):
        complete(server, answer, deadline_s=0.5)
    assert time.monotonic() - begin < 2.0


@pytest.mark.slow
def test_an_answer_without_end_does_not_fill_the_memory(server: Server) -> None:
    with pytest.raises(ModelError, match="longer than"):
        complete(server, endless_line)


@pytest.mark.slow
def test_tries_share_one_deadline(server: Server) -> None:
    def slow(handler: Handler, body: dict[str, Any]) -> None:
        time.sleep(0.3)
        status(500)(handler, body)

    begin = time.monotonic()
    with pytest.raises(ModelError):
        complete(server, slow, deadline_s=0.5)
    assert time.monotonic() - begin < 1.5


@pytest.mark.slow
def test_cancelling_returns_at_once_and_hangs_up(server: Server) -> None:
    server.answers = [never_ending]

    async def ask() -> float:
        model = OpenAiCompatible(server.url, "tiny", dialect=Dialect.NONE)
        task = asyncio.create_task(model.complete(Request(HELLO)))
        while not server.bodies:
            await asyncio.sleep(0.01)
        task.cancel()
        begin = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - begin
        await model.close()
        return took

    assert asyncio.run(ask()) < 0.5
    deadline = time.monotonic() + 5
    while not server.hung_up and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.hung_up == 1


def test_nobody_listens() -> None:
    async def ask() -> None:
        model = RetryingModel(OpenAiCompatible("http://127.0.0.1:9/v1", "tiny"), retries=FAST)
        await model.complete(Request(HELLO))

    with pytest.raises(ModelError, match=r"after 3 tries: .*APIConnectionError"):
        asyncio.run(ask())


def held(field: str) -> Answer:
    """A server that is held to a grammar in `field` and ignores every other field."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        says("a7" if field in body else "hello")(handler, body)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "dialect", "field"),
    [
        (held("structured_outputs"), Dialect.VLLM, "structured_outputs"),
        (held("grammar"), Dialect.LLAMACPP, "grammar"),
        (held("nothing"), Dialect.NONE, ""),
        (status(422), Dialect.NONE, ""),
    ],
)
def test_the_dialect_is_found_by_asking(
    server: Server, answer: Answer, dialect: Dialect, field: str
) -> None:
    refused = 3 if dialect is Dialect.NONE else 1
    server.answers = [answer] * refused

    async def ask() -> Dialect:
        model = OpenAiCompatible(server.url, "tiny")
        try:
            await model.complete(Request(HELLO, grammar='root ::= "b"'))
        except ModelError:
            assert answer is not held
        await model.close()
        return model.dialect

    assert asyncio.run(ask()) is dialect
    sent = {"structured_outputs", "grammar"} & set(server.bodies[-1])
    assert sent == ({field} if field else set())


@pytest.mark.slow
def test_a_model_that_says_nothing_has_no_first_token(server: Server) -> None:
    answer = complete(server, says())
    assert answer.text == ""
    assert math.isnan(answer.timings.first_token_s)


def says_no(code: int, message: str) -> Answer:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin(code, "application/json")
        handler.wfile.write(json.dumps({"error": {"message": message}}).encode())

    return answer


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 1024 tokens. However, you requested 1100.",
        "the request exceeds the available context size (exceed_context_size_error)",
    ],
)
def test_a_full_context_is_its_own_error(server: Server, message: str) -> None:
    with pytest.raises(ContextFullError, match="the model's context is full"):
        complete(server, says_no(400, message))
    assert len(server.bodies) == 1


@pytest.mark.slow
def test_a_wrong_model_name_is_reported_in_the_servers_words(server: Server) -> None:
    with pytest.raises(ModelError, match=r"status 404: .*`tiny` does not exist"):
        complete(server, says_no(404, "The model `tiny` does not exist."))


@pytest.mark.slow
def test_a_refusal_that_comes_in_the_stream(server: Server) -> None:
    """vLLM finds a bad grammar only when the stream has begun, with status 200."""
    fault = {"message": "Invalid grammar specification.", "type": "BadRequestError", "code": 400}
    data = b"data: " + json.dumps({"error": fault}).encode() + b"\n\ndata: [DONE]\n\n"
    with pytest.raises(ModelError, match="status 400: Invalid grammar specification"):
        complete(server, raw(data))
    assert len(server.bodies) == 1
    broken = b'data: {"error": {"message": "boom", "code": 500}}\n\n'
    assert complete(server, raw(broken), says("hi")).text == "hi"


@pytest.mark.slow
@pytest.mark.parametrize("code", [502, 503, 504])
def test_a_server_that_is_starting_is_away(server: Server, code: int) -> None:
    with pytest.raises(ModelUnavailableError):
        complete(server, status(code))


@pytest.mark.slow
@pytest.mark.parametrize("code", [500, 429])
def test_a_server_that_is_broken_or_overloaded_is_not_away(server: Server, code: int) -> None:
    with pytest.raises(ModelError) as caught:
        complete(server, status(code))
    assert not isinstance(caught.value, ModelUnavailableError)


@pytest.mark.slow
def test_a_server_that_is_stopped_and_started_again_loses_nothing() -> None:
    """The planner's wait: the same port answers nobody, then half an answer, then a whole one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said: list[str] = []

    async def ask() -> Completion:
        plain = OpenAiCompatible(f"http://127.0.0.1:{port}/v1", "tiny", dialect=Dialect.VLLM)
        patient = RetryingModel(
            plain,
            wait_s=60.0,
            retries=Retries(max_count=0),
            on_wait=said.append,
            first_wait_s=0.05,
        )
        task = asyncio.ensure_future(patient.complete(Request(HELLO, grammar='root ::= "a"')))
        while len(said) < 2:
            await asyncio.sleep(0.01)
        made = Server(port)
        made.answers = [status(503), says("Done[]")]
        thread = Thread(target=made.serve_forever, daemon=True)
        thread.start()
        try:
            return await task
        finally:
            await patient.close()
            made.stopped = True
            made.shutdown()
            made.server_close()

    assert asyncio.run(ask()).text == "Done[]"
    assert said[0].startswith("waiting for model: ")
    assert said[-1] == ""


@pytest.mark.slow
def test_logprobs_are_kept(server: Server) -> None:
    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.begin()
        tokens = [{"token": "a", "logprob": -0.25}, {"token": "b", "logprob": -1.5}]
        handler.event(choices=[{"delta": {"content": "ab"}, "logprobs": {"content": tokens}}])
        handler.event(choices=[{"delta": {}, "finish_reason": "stop"}])
        handler.wfile.write(b"data: [DONE]\n\n")

    server.answers = [answer]

    async def ask() -> Completion:
        model = OpenAiCompatible(server.url, "tiny", logprobs=True)
        try:
            return await model.complete(Request(HELLO))
        finally:
            await model.close()

    assert asyncio.run(ask()).logprobs == (-0.25, -1.5)
    assert server.bodies[0]["logprobs"] is True
