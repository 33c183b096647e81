"""A model behind an HTTP server that speaks OpenAI's chat completions, such as vLLM.

Servers differ in how they take a grammar, and ignore with status 200 what they do not know: the
dialect says how to send it, or is found out by asking for something that only a held model says.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelAwayError,
    ModelError,
    Speaker,
    Timings,
    Usage,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Nothing that a planner asks for is as long; an answer without end stops here.
MOST_BYTES = 1_000_000
KEY_VARIABLE = "OPENAI_API_KEY"
_PROBE_WORD = "a7"
# What servers say of a prompt that is too long; there is no common code for it.
_CONTEXT_WORDS = (
    "context length",
    "context_length",
    "context size",
    "exceed_context",
    "max_model_len",
)
# A proxy, or a server that is starting or stopping, says these.
_AWAY = (502, 503, 504)
_MOST_REASON = 300


class Dialect(StrEnum):
    """How a server is told a grammar."""

    AUTO = "auto"
    VLLM = "vllm"
    LLAMACPP = "llamacpp"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failed request is sent again, and the wait before each, seconds, doubling."""

    most: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0


class _Record(BaseModel):
    """A part of an answer; what else the server says is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Text(_Record):
    content: str | None = None


class _Token(_Record):
    logprob: float


class _Logprobs(_Record):
    content: tuple[_Token, ...] | None = None


class _Choice(_Record):
    delta: _Text | None = None
    message: _Text | None = None
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Details(_Record):
    cached_tokens: int | None = None


class _Usage(_Record):
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    prompt_tokens_details: _Details | None = None


class _Fault(_Record):
    message: str = ""
    code: int | str | None = None


class _Chunk(_Record):
    # Some faults are only known when the stream has begun, with status 200.
    error: _Fault | None = None
    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None


class _RetryError(Exception):
    """A failure that another try may not have.

    Attributes:
        wait_s: what the server asks for.
        away: whether nobody is there at all.
    """

    def __init__(self, reason: str, wait_s: float = 0.0, *, away: bool = False) -> None:
        self.wait_s, self.away = wait_s, away
        super().__init__(reason)


class OpenAiCompatible:
    """One model of one server. The key, where a server wants one, is in the environment."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dialect: Dialect = Dialect.AUTO,
        temperature: float = 0.0,
        logprobs: bool = False,
        retries: Retries | None = None,
    ) -> None:
        """Takes the server's base address, such as http://127.0.0.1:8000/v1; connects later.

        A LoRA adapter is served under its own name: it is the `model`.

        Raises:
            ModelError: for an address that is none.
        """
        if not url.startswith(("http://", "https://")):
            raise ModelError(f"the model's address {url!r} does not begin with http:// or https://")
        self._url, self._model = url, model
        self._dialect, self._temperature = dialect, temperature
        self._logprobs = logprobs
        self._retries = retries or Retries()
        self._client: AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """The model's name, for traces."""
        return self._model

    @property
    def dialect(self) -> Dialect:
        """How grammars are sent; AUTO until the first one was."""
        return self._dialect

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        grammar: str = "",
        stop: Sequence[str] = (),
        max_tokens: int = 256,
        seed: int | None = None,
        deadline_s: float = 60.0,
    ) -> Completion:
        """The server's answer; failed requests are sent again as long as there is time.

        Raises:
            ModelError: naming the server and what it did.
        """
        try:
            async with asyncio.timeout(deadline_s):
                if grammar and self._dialect is Dialect.AUTO:
                    self._dialect = await self._find_dialect(deadline_s)
                body = self._body(messages, stop, max_tokens, seed)
                return await self._persist(body | self._grammar_field(grammar), deadline_s)
        except TimeoutError:
            raise ModelError(
                f"{self._url}: no complete answer of {self._model} within {deadline_s:.1f} s"
            ) from None

    def _body(
        self, messages: Sequence[Message], stop: Sequence[str], max_tokens: int, seed: int | None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": m.speaker.value, "content": m.text} for m in messages],
            "max_tokens": max_tokens,
            "temperature": self._temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._logprobs:
            body["logprobs"] = True
        if stop:
            body["stop"] = list(stop)
        if seed is not None:
            body["seed"] = seed
        return body

    def _grammar_field(self, grammar: str) -> dict[str, Any]:
        if not grammar:
            return {}
        if self._dialect is Dialect.VLLM:
            return {"structured_outputs": {"grammar": grammar}}
        return {"grammar": grammar} if self._dialect is Dialect.LLAMACPP else {}

    async def _find_dialect(self, deadline_s: float) -> Dialect:
        """Asks for a word that nobody would say unless held to it."""
        ask = (Message(Speaker.USER, "Say hello."),)
        grammar = f'root ::= "{_PROBE_WORD}"\n'
        for dialect in (Dialect.VLLM, Dialect.LLAMACPP):
            self._dialect = dialect
            body = self._body(ask, (), 8, 0) | self._grammar_field(grammar)
            try:
                answer = await self._persist(body, deadline_s)
            except _RefusedError:
                # A server may refuse what it does not know: then it is not its dialect.
                continue
            finally:
                self._dialect = Dialect.AUTO
            if answer.text.strip() == _PROBE_WORD:
                return dialect
        return Dialect.NONE

    async def _persist(self, body: dict[str, Any], deadline_s: float) -> Completion:
        wait_s = self._retries.first_wait_s
        for attempt in range(self._retries.most + 1):
            try:
                return await self._once(body, deadline_s)
            except _RetryError as error:
                if attempt == self._retries.most:
                    tries = f"after {attempt + 1} tries" if attempt else "at the first try"
                    kind = ModelAwayError if error.away else ModelError
                    raise kind(f"{self._url}: {tries}: {error}") from None
                await asyncio.sleep(min(max(wait_s, error.wait_s), self._retries.longest_wait_s))
                wait_s *= 2
        raise AssertionError("the last try returns or raises")

    async def _once(self, body: dict[str, Any], deadline_s: float) -> Completion:
        # Imported here: it takes half a second, which planners without a model do not have to pay.
        import openai

        started_s = time.monotonic()
        try:
            raw = self._connection(openai).chat.completions.with_streaming_response
            async with raw.create(
                model=body["model"],
                messages=body["messages"],
                stream=True,
                timeout=deadline_s,
                extra_body={k: v for k, v in body.items() if k not in ("model", "messages")},
            ) as response:
                reading = _Reading(self._url, started_s)
                async for part in response.iter_bytes():
                    reading.take(part)
                    if reading.over:
                        break
                return reading.completion()
        except openai.APIStatusError as error:
            raise _status_error(self._url, error) from None
        except openai.APITimeoutError as error:
            raise _RetryError(f"{type(error).__name__}: {error}") from None
        except openai.APIConnectionError as error:
            raise _RetryError(f"{type(error).__name__}: {error}", away=True) from None
        except openai.OpenAIError as error:
            raise _RetryError(f"{type(error).__name__}: {error}") from None
        except OSError as error:
            raise _RetryError(f"the connection broke: {error}", away=True) from None
        except _transport_errors() as error:
            raise _RetryError(f"the connection broke: {type(error).__name__}", away=True) from None

    def _connection(self, openai: Any) -> AsyncOpenAI:
        if self._client is None:
            # Our own tries, which share one deadline; the library's would multiply it.
            key = os.environ.get(KEY_VARIABLE, "none")
            self._client = openai.AsyncOpenAI(base_url=self._url, api_key=key, max_retries=0)
        return self._client

    async def close(self) -> None:
        """Ends connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None


class _RefusedError(ModelError):
    """A request that the server will never take."""


def _status_error(url: str, error: Any) -> Exception:
    try:
        wait_s = float(error.response.headers.get("retry-after", "0"))
    except ValueError:
        wait_s = 0.0
    return _error_of(url, int(error.status_code), str(error.message), wait_s)


def _fault_error(url: str, fault: _Fault) -> Exception:
    code = str(fault.code or "")
    return _error_of(url, int(code) if code.isdecimal() else 500, fault.message, 0.0)


def _error_of(url: str, status: int, message: str, wait_s: float) -> Exception:
    said = " ".join(message.split())[:_MOST_REASON]
    if status == 429 or status >= 500 or status in (408, 409):
        wait_s = wait_s if math.isfinite(wait_s) else 0.0
        return _RetryError(f"status {status}", wait_s, away=status in _AWAY)
    if status in (400, 413, 422) and any(word in said.lower() for word in _CONTEXT_WORDS):
        return ContextFullError(f"{url}: the model's context is full: {said}")
    return _RefusedError(f"{url}: refused the request with status {status}: {said}")


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2

    return (httpx2.HTTPError, httpx2.StreamError)


class _Reading:
    """An answer as it arrives: server-sent events, or one whole document."""

    def __init__(self, url: str, started_s: float) -> None:
        self._url, self._started_s = url, started_s
        self._buffer = b""
        self._whole = b""
        self._received = 0
        self._text: list[str] = []
        self._first_s = math.nan
        self._finish = ""
        self._usage = _Usage()
        self._events = False
        self._logprobs: list[float] = []
        self.over = False

    def take(self, part: bytes) -> None:
        """Reads on.

        Raises:
            _RetryError: where it is no answer, or one without end.
            ModelError: where it is a refusal.
        """
        self._received += len(part)
        if self._received > MOST_BYTES:
            raise _RetryError(f"the answer is longer than {MOST_BYTES} bytes")
        *lines, self._buffer = (self._buffer + part).split(b"\n")
        for line in lines:
            self._line(line.strip())

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            if line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                # No event: a server that does not stream sends one document.
                self._whole += line
            return
        self._events = True
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            self.over = True
        elif data:
            self._chunk(data)

    def _chunk(self, data: bytes) -> None:
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError:
            raise _RetryError(f"the answer is no chat completion: {data[:80]!r}") from None
        if chunk.error is not None:
            raise _fault_error(self._url, chunk.error)
        if chunk.usage is not None:
            self._usage = chunk.usage
        for choice in chunk.choices[:1]:
            said = choice.delta or choice.message
            if said is not None and said.content:
                if math.isnan(self._first_s):
                    self._first_s = time.monotonic() - self._started_s
                self._text.append(said.content)
            self._finish = choice.finish_reason or self._finish
            if choice.logprobs is not None:
                self._logprobs += [token.logprob for token in choice.logprobs.content or ()]

    def completion(self) -> Completion:
        """The answer.

        Raises:
            _RetryError: where it was cut off before its end.
        """
        whole = self._whole + self._buffer.strip()
        if not self._events and whole:
            self._chunk(whole)
        if not self._finish:
            raise _RetryError("the answer was cut off before its end")
        details = self._usage.prompt_tokens_details
        cached = details.cached_tokens if details is not None else None
        usage = Usage(self._usage.prompt_tokens, cached or 0, self._usage.completion_tokens)
        timings = Timings(self._first_s, time.monotonic() - self._started_s)
        text = "".join(self._text)
        return Completion(text, usage, timings, self._finish, tuple(self._logprobs))
