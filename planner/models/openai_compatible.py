"""A model behind an HTTP server with OpenAI's chat completions API, such as vLLM.

Servers differ in how they accept a grammar, and answer unknown fields with status 200. The dialect
says how to send it; it is configured, or detected by a request whose reply only a constrained model
would give.
"""

from __future__ import annotations

import os
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from planner.models.chat import (
    Completion,
    Message,
    ModelBusyError,
    ModelError,
    ModelUnavailableError,
    Request,
    Speaker,
)
from planner.models.server_reply import RefusedError, ReplyReader, status_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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
    ) -> None:
        """Stores the server's base URL, such as http://127.0.0.1:8000/v1; connects later.

        A LoRA adapter is served under a name of its own, which is then the `model`.

        Raises:
            ModelError: for an invalid URL.
        """
        if not url.startswith(("http://", "https://")):
            raise ModelError(f"the model's address {url!r} does not begin with http:// or https://")
        self._url, self._model = url, model
        self._dialect, self._temperature = dialect, temperature
        self._logprobs = logprobs
        self._client: AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """The model's name, for traces."""
        return self._model

    @property
    def dialect(self) -> Dialect:
        """How grammars are sent; AUTO until the first one is."""
        return self._dialect

    async def complete(self, request: Request) -> Completion:
        """The server's reply to a single attempt; `RetryingModel` retries.

        Raises:
            ModelError: naming the server and what happened.
        """
        if request.grammar and self._dialect is Dialect.AUTO:
            self._dialect = await self._find_dialect(request.deadline_s)
        return await self._send(request, self._dialect)

    async def _send(self, request: Request, dialect: Dialect) -> Completion:
        body = self._body(request) | _grammar_field(request.grammar, dialect)
        return await self._once(body, request.deadline_s)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
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
        return body

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
