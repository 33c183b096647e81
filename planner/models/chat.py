"""The interface of language models and vision-language models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from planner.models.picture import Picture
from planner.models.reference import Reference
from planner.models.role import Role
from planner.world.errors import PlannerError


class ModelError(PlannerError):
    """A language model gave no usable reply; the text says which and why."""


class ModelBusyError(ModelError):
    """A failure that a retry may resolve, such as an overloaded server.

    Attributes:
        wait_s: how long the server asks to wait before a retry; 0 = not given.
    """

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        super().__init__(text)


class ModelUnavailableError(ModelBusyError):
    """The model cannot be reached now but may be later: its server is down or starting."""


class ContextFullError(ModelError):
    """A dialogue longer than the model's context."""


class Speaker(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a dialogue; pictures come before its text."""

    speaker: Speaker
    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a model.

    Attributes:
        messages: the dialogue so far.
        grammar: GBNF that the reply must follow; "" = free. A model without constrained decoding
            ignores it, so replies are always parsed.
        stop: strings at which the reply ends; they are not part of it.
        max_tokens: of the reply.
        seed: of the sampling, where the model supports one.
        deadline_s: wall seconds including retries; `RetryingModel` enforces it.
        accepts_partial: whether a reply cut off by the deadline is accepted, with `finish`
            `length`. Models that cannot return one raise an error.
        role: what the call is for.
        reference: the right reply, which only privileged models ask for; None = not known.
    """

    messages: tuple[Message, ...]
    grammar: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 256
    seed: int | None = None
    deadline_s: float = 60.0
    accepts_partial: bool = False
    role: Role = Role.PLANNER
    reference: Reference | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the server; zeros where it does not report them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    reply_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Timings:
    """Wall seconds from the request to the first token and to the end; NaN: not measured."""

    first_token_s: float = math.nan
    total_s: float = math.nan


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply.

    Attributes:
        finish: `stop` (ended by itself or at a stop string) or `length`.
        logprobs: natural logarithm of each token's probability, where requested.
        cost: in the currency of the prices; 0 where they are unknown.
        notes: what the model says about the reply besides it, for traces.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    finish: str = "stop"
    logprobs: tuple[float, ...] = ()
    cost: float = 0.0
    notes: Mapping[str, str] = field(default_factory=dict)


class ChatModel(Protocol):
    """A language model that continues a dialogue."""

    @property
    def name(self) -> str:
        """The model's name, for traces."""

    async def complete(self, request: Request) -> Completion:
        """The next assistant turn; may be cancelled at any time.

        Raises:
            ModelBusyError: if a retry may help.
            ModelUnavailableError: if the model cannot be reached.
            ContextFullError: if the dialogue exceeds the model's context.
            ModelError: if there is no usable reply for another reason.
        """

    async def close(self) -> None:
        """Closes connections."""


class WrappedModel:
    """The base of models that wrap another model."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The wrapped model's name."""
        return self._model.name

    async def close(self) -> None:
        """Closes the wrapped model."""
        await self._model.close()


def cut_at(text: str, stop: Sequence[str]) -> str:
    """The text up to the first stop string."""
    for word in stop:
        text = text.partition(word)[0]
    return text


def transcript(messages: Sequence[Message]) -> str:
    """The whole dialogue as one text, for traces and comparisons; pictures as digests."""
    return "\n".join(
        "\n".join([f"[{m.speaker.value}]", *(f"[picture {p.digest}]" for p in m.pictures), m.text])
        for m in messages
    )
