"""A model behind an HTTP server with OpenAI's chat completions API, such as vLLM.

Servers differ in how they accept a grammar, and answer unknown fields with status 200. The dialect
says how to send it; it is configured, or detected by a request whose reply only a constrained model
would give.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelBusyError,
    ModelError,
    ModelUnavailableError,
    Request,
    Speaker,
    Timings,
    Usage,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI


# Parses replies of OpenAI-compatible servers: streamed events or one document, and errors.

# Bounds replies that never end; no requested reply is that long.
MAX_BYTES = 1_000_000
# Phrases by which servers report a prompt that is too long; there is no common code for it.
_CONTEXT_WORDS = (
    "context length", "context_length", "context size", "exceed_context", "max_model_len",
)  # fmt: skip
# From a proxy, or a server that is starting or stopping.
_UNAVAILABLE_STATUSES = (502, 503, 504)
_MAX_REASON = 300


class _Record(BaseModel):
    """A part of a reply; fields not listed are ignored."""

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
    # Some errors are only known once the stream has begun, with status 200.
    error: _Fault | None = None
    choices: tuple[_Choice, ...] = ()
    usage: _Usage | None = None


class RefusedError(ModelError):
    """A request that the server will never accept."""


def status_error(url: str, error: Any) -> ModelError:
    """The error for an HTTP status, as `openai.APIStatusError` reports it."""
    try:
        wait_s = float(error.response.headers.get("retry-after", "0"))
    except ValueError:
        wait_s = 0.0
    return _error_of(url, int(error.status_code), str(error.message), wait_s)


def _fault_error(url: str, fault: _Fault) -> ModelError:
    code = str(fault.code or "")
    return _error_of(url, int(code) if code.isdecimal() else 500, fault.message, 0.0)


def _error_of(url: str, status: int, message: str, wait_s: float) -> ModelError:
    said = " ".join(message.split())[:_MAX_REASON]
    if status == 429 or status >= 500 or status in (408, 409):
        wait_s = wait_s if math.isfinite(wait_s) else 0.0
        kind = ModelUnavailableError if status in _UNAVAILABLE_STATUSES else ModelBusyError
        return kind(f"{url}: status {status}", wait_s)
    if status in (400, 413, 422) and any(word in said.lower() for word in _CONTEXT_WORDS):
        return ContextFullError(f"{url}: the model's context is full: {said}")
    return RefusedError(f"{url}: refused the request with status {status}: {said}")


class ReplyReader:
    """Parses a reply as it arrives: server-sent events, or one whole document."""

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
        """Parses the next piece.

        Raises:
            ModelBusyError: if it is not a reply, or too long.
            ModelError: if it is a rejection.
        """
        self._received += len(part)
        if self._received > MAX_BYTES:
            raise ModelBusyError(f"{self._url}: the answer is longer than {MAX_BYTES} bytes")
        *lines, self._buffer = (self._buffer + part).split(b"\n")
        for line in lines:
            self._line(line.strip())

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            if line and not line.startswith((b":", b"event:", b"id:", b"retry:")):
                # Not an event: a server that does not stream sends one document.
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
            raise ModelBusyError(
                f"{self._url}: the answer is not a chat completion: {data[:80]!r}"
            ) from None
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
        """The complete reply.

        Raises:
            ModelBusyError: if it was cut off.
        """
        whole = self._whole + self._buffer.strip()
        if not self._events and whole:
            self._chunk(whole)
        if not self._finish:
            raise ModelBusyError(f"{self._url}: the answer was cut off before its end")
        details = self._usage.prompt_tokens_details
        cached = details.cached_tokens if details is not None else None
        usage = Usage(self._usage.prompt_tokens, cached or 0, self._usage.completion_tokens)
        timings = Timings(self._first_s, time.monotonic() - self._started_s)
        text = "".join(self._text)
        return Completion(text, usage, timings, self._finish, tuple(self._logprobs))


KEY_VARIABLE = "OPENAI_API_KEY"
_PROBE_WORD = "a7"


class Dialect(StrEnum):
    """How a grammar is sent to a server."""

    AUTO = "auto"
    VLLM = "vllm"
    LLAMACPP = "llamacpp"
    NONE = "none"


class OpenAiCompatible:
    """One model of one server. The API key, if the server needs one, is in the environment."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dialect: Dialect = Dialect.AUTO,
        temperature: float = 0.0,
        logprobs: bool = False,
        fields: Mapping[str, object] | None = None,
    ) -> None:
        """Stores the server's base URL, such as http://127.0.0.1:8000/v1; connects later.

        A LoRA adapter is served under a name of its own, which is then the `model`. `fields` are
        further ones of each request, by the server's documentation.

        Raises:
            ModelError: for an invalid URL.
        """
        if not url.startswith(("http://", "https://")):
            raise ModelError(f"the model's address {url!r} does not begin with http:// or https://")
        self._url, self.name = url, model
        self.dialect, self._temperature = dialect, temperature
        self._logprobs, self._fields = logprobs, dict(fields or {})
        self._client: AsyncOpenAI | None = None

    async def complete(self, request: Request) -> Completion:
        """The server's reply to a single attempt; `RetryingModel` retries.

        Raises:
            ModelError: naming the server and what happened.
        """
        if request.grammar and self.dialect is Dialect.AUTO:
            self.dialect = await self._find_dialect(request.deadline_s)
        return await self._send(request, self.dialect)

    async def _send(self, request: Request, dialect: Dialect) -> Completion:
        body = self._body(request) | _grammar_field(request.grammar, dialect)
        return await self._once(body, request.deadline_s)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": m.speaker.value, "content": _content(m)} for m in request.messages
            ],
            "max_tokens": request.max_tokens,
            "temperature": self._temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._logprobs:
            body["logprobs"] = True
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return body | self._fields

    async def _find_dialect(self, deadline_s: float) -> Dialect:
        """Requests a word that only a constrained model would reply."""
        probe = Request(
            (Message(Speaker.USER, "Say hello."),),
            grammar=f'root ::= "{_PROBE_WORD}"\n',
            max_tokens=8,
            seed=0,
            deadline_s=deadline_s,
        )
        for dialect in (Dialect.VLLM, Dialect.LLAMACPP):
            try:
                answer = await self._send(probe, dialect)
            except RefusedError:
                # A server that rejects the field uses another dialect.
                continue
            if answer.text.strip() == _PROBE_WORD:
                return dialect
        return Dialect.NONE

    async def _once(self, body: dict[str, Any], deadline_s: float) -> Completion:
        # Imported here: it takes half a second, and planners without a model do not need it.
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
                reading = ReplyReader(self._url, started_s)
                async for part in response.iter_bytes():
                    reading.take(part)
                    if reading.over:
                        break
                return reading.completion()
        except openai.APIStatusError as error:
            raise status_error(self._url, error) from None
        except openai.APITimeoutError as error:
            raise ModelBusyError(f"{self._url}: {type(error).__name__}: {error}") from None
        except openai.APIConnectionError as error:
            raise ModelUnavailableError(f"{self._url}: {type(error).__name__}: {error}") from None
        except openai.OpenAIError as error:
            raise ModelBusyError(f"{self._url}: {type(error).__name__}: {error}") from None
        except OSError as error:
            raise ModelUnavailableError(f"{self._url}: the connection broke: {error}") from None
        except _transport_errors() as error:
            raise ModelUnavailableError(
                f"{self._url}: the connection broke: {type(error).__name__}"
            ) from None

    def _connection(self, openai: Any) -> AsyncOpenAI:
        if self._client is None:
            # No retries of the library: ours share one deadline, and its own would multiply it.
            key = os.environ.get(KEY_VARIABLE, "none")
            self._client = openai.AsyncOpenAI(base_url=self._url, api_key=key, max_retries=0)
        return self._client

    async def close(self) -> None:
        """Closes connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.pictures:
        return message.text
    pictures = [
        {"type": "image_url", "image_url": {"url": picture.data_url}}
        for picture in message.pictures
    ]
    return [*pictures, {"type": "text", "text": message.text}]


def _grammar_field(grammar: str, dialect: Dialect) -> dict[str, Any]:
    if not grammar:
        return {}
    if dialect is Dialect.VLLM:
        return {"structured_outputs": {"grammar": grammar}}
    return {"grammar": grammar} if dialect is Dialect.LLAMACPP else {}


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx2

    return (httpx2.HTTPError, httpx2.StreamError)
