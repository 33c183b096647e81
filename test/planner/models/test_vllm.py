"""The client against a real vLLM (its CPU build) with a tiny model of random weights.

Opt-in: `make test-vllm` makes the server's environment and sets PLANNER_VLLM_PYTHON.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_models

from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelError,
    Request,
    Speaker,
)
from planner.models.model_choice import Retries, RetryingModel
from planner.models.openai_compatible import Dialect, OpenAiCompatible
from planner.models.replies.turn import Ability, TurnForm, Words, turn_grammar
from planner.models.serve import cpu_command
from planner.world.skill import SkillName

PYTHON = os.environ.get("PLANNER_VLLM_PYTHON", "")
pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="opt-in: make test-vllm"),
    pytest.mark.timeout(1200),
]
CONTEXT = 1024
START_S = 600.0
ASK = (Message(Speaker.USER, "What is the next action?"),)
WORDS = Words(
    tuple(f"cup_{i}" for i in range(150)), tuple(f"table_{i}" for i in range(50)), ("kitchen_0",)
)
GRAMMAR = turn_grammar(WORDS, {"agent_0": Ability(tuple(SkillName)[:8])}, TurnForm.CALL)


class Server:
    """vLLM in a process of its own, started again on the same port."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.log = (folder / "vllm.log").open("wb")
        adapters = [("a1", folder / "adapter")]
        words = cpu_command(str(folder / "tiny"), CONTEXT, self.port, "tiny", adapters)
        self.command = [PYTHON if word == "python" else word for word in words]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True
        )

    def wait(self) -> None:
        until_s = time.monotonic() + START_S
        while True:
            assert self.process is not None
            assert self.process.poll() is None, Path(self.log.name).read_text()[-4000:]
            assert time.monotonic() < until_s, Path(self.log.name).read_text()[-4000:]
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.5)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("vllm")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(
        [PYTHON, str(tiny_models.__file__), str(folder)],
        check=True,
        env=environment,
        timeout=START_S,
    )
    made = Server(folder)
    made.start()
    try:
        made.wait()
        yield made
    finally:
        made.stop()
        made.log.close()


def model(server: Server, name: str = "tiny", **more: Any) -> OpenAiCompatible:
    return OpenAiCompatible(server.url, name, **({"temperature": 1.0} | more))


def ask(server: Server, count: int = 1, messages: tuple[Message, ...] = ASK, **more: Any) -> Any:
    made = model(server, more.pop("name", "tiny"), **more.pop("client", {}))

    async def all_of() -> list[Completion]:
        try:
            calls = (
                made.complete(Request(messages, **({"seed": seed, "deadline_s": 200.0} | more)))
                for seed in range(count)
            )
            return await asyncio.gather(*calls)
        finally:
            await made.close()

    answers = asyncio.run(all_of())
    return answers if count > 1 else answers[0]


def test_the_server_is_found_out_and_holds_random_weights_to_the_grammar(server: Server) -> None:
    async def both() -> tuple[list[Completion], Dialect]:
        made = model(server)
        # One finds out how the server takes a grammar, then many at once: overload is queued.
        first = await made.complete(Request(ASK, grammar=GRAMMAR.text, seed=99, deadline_s=200.0))
        rest = await asyncio.gather(
            *(
                made.complete(Request(ASK, grammar=GRAMMAR.text, seed=seed, deadline_s=200.0))
                for seed in range(64)
            )
        )
        await made.close()
        return [first, *rest], made.dialect

    answers, dialect = asyncio.run(both())
    assert dialect is Dialect.VLLM
    assert all(GRAMMAR.read.accepts(answer.text) for answer in answers)
    assert len({answer.text for answer in answers}) > 20
    free = ask(server, 5, client={"dialect": Dialect.NONE}, grammar=GRAMMAR.text, max_tokens=40)
    assert not any(GRAMMAR.read.accepts(answer.text) for answer in free)


def test_every_form_of_turn_is_taken(server: Server) -> None:
    ability = Ability(tuple(SkillName), may_ask=True)
    for form in TurnForm:
        abilities = {"agent_0": ability, "agent_1": ability}
        few = abilities if form is TurnForm.TEAM else {"agent_0": ability}
        grammar = turn_grammar(WORDS, few, form)
        answer = ask(server, grammar=grammar.text, max_tokens=900)
        assert answer.finish == "length" or grammar.read.accepts(answer.text), answer.text


def test_it_streams(server: Server) -> None:
    answer = ask(server, max_tokens=60, client={"dialect": Dialect.NONE})
    assert answer.timings.first_token_s < answer.timings.total_s
    assert answer.usage.reply_tokens > 1


def test_the_prefix_cache_is_reported(server: Server) -> None:
    long = (Message(Speaker.USER, "Navigate[table_0] Pick[cup_0] " * 20),)
    first = ask(server, messages=long, max_tokens=4)
    more = (*long, Message(Speaker.ASSISTANT, "Done[]"), Message(Speaker.USER, "next"))
    second = ask(server, messages=more, max_tokens=4)
    assert first.usage.prompt_tokens > 100
    assert second.usage.cached_tokens >= 0.8 * first.usage.prompt_tokens - 16


def test_an_adapter_is_asked_by_its_name(server: Server) -> None:
    greedy = {"temperature": 0.0, "dialect": Dialect.NONE}
    base = ask(server, max_tokens=20, client=greedy)
    adapted = ask(server, name="a1", max_tokens=20, client=greedy)
    assert base.text != adapted.text


def test_logprobs(server: Server) -> None:
    answer = ask(server, max_tokens=6, client={"logprobs": True, "dialect": Dialect.NONE})
    assert len(answer.logprobs) == answer.usage.reply_tokens
    assert all(value <= 0 for value in answer.logprobs)


def test_a_full_context_is_reported(server: Server) -> None:
    long = (Message(Speaker.USER, "Navigate[table_0] " * 600),)
    with pytest.raises(ContextFullError):
        ask(server, messages=long)


def test_a_wrong_name_is_refused(server: Server) -> None:
    with pytest.raises(ModelError, match="status 404"):
        ask(server, name="other", client={"dialect": Dialect.VLLM})


def test_a_cancelled_request_frees_the_server(server: Server) -> None:
    async def cancel() -> Completion:
        made = model(server, dialect=Dialect.NONE)
        task = asyncio.ensure_future(made.complete(Request(ASK, max_tokens=900)))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        answer = await made.complete(Request(ASK, max_tokens=4, deadline_s=100.0))
        await made.close()
        return answer

    assert asyncio.run(cancel()).usage.reply_tokens > 0


def test_a_restart_in_the_middle_loses_nothing(server: Server) -> None:
    said: list[str] = []

    async def through() -> Completion:
        plain = model(server, dialect=Dialect.VLLM)
        patient = RetryingModel(
            plain, wait_s=START_S, retries=Retries(max_count=0), on_wait=said.append
        )
        server.stop()
        task = asyncio.ensure_future(
            patient.complete(Request(ASK, grammar=GRAMMAR.text, seed=1, deadline_s=100.0))
        )
        while not said:
            await asyncio.sleep(0.05)
        server.start()
        answer = await task
        await patient.close()
        return answer

    assert GRAMMAR.read.accepts(asyncio.run(through()).text)
    assert said[0].startswith("waiting for model: ")
    assert said[-1] == ""
