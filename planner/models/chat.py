"""The seam between those who ask and language models, with or without eyes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from planner.models.picture import Picture
from planner.models.role import Role
from planner.world.errors import PlannerError


class ModelError(PlannerError):
    """A language model that gave no usable answer; the text says which and why."""


class ModelBusyError(ModelError):
    """A failure that another try may not have, such as an overloaded server.

    Attributes:
        wait_s: how long the server asks to wait before the next try; 0 = it does not say.
    """

    def __init__(self, text: str, wait_s: float = 0.0) -> None:
        self.wait_s = wait_s
        super().__init__(text)


class ModelUnavailableError(ModelBusyError):
    """A model that cannot be reached now, but may be later: its server is down or starting."""


class ContextFullError(ModelError):
    """A dialogue that is longer than what the model can read."""


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
        grammar: GBNF text that the answer shall follow; "" leaves it free. A model that cannot be
            held to a grammar ignores it, so answers are always parsed.
        stop: strings at which the answer ends; they are not part of it.
        max_tokens: of the answer.
        seed: of the sampling, where the model takes one.
        deadline_s: wall seconds for everything, tries included; `RetryingModel` enforces it.
        accepts_partial: whether an answer that the deadline cuts off is welcome, with
            `finish` `length`. Models that cannot give one end with an error.
        role: what the call is for.
    """

    messages: tuple[Message, ...]
    grammar: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 256
    seed: int | None = None
    deadline_s: float = 60.0
    accepts_partial: bool = False
    role: Role = Role.PLANNER


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counts them; zeros where it does not say."""

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
    """An answer.

    Attributes:
        finish: `stop` (ended by itself or at a stop string) or `length`.
        logprobs: natural logarithm of each token's probability, where the model was to tell.
        cost: money, where prices are known.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    finish: str = "stop"
    logprobs: tuple[float, ...] = ()
    cost: float = 0.0


class ChatModel(Protocol):
    """A language model that continues a dialogue."""

    @property
    def name(self) -> str:
        """The model's name, for traces."""

    async def complete(self, request: Request) -> Completion:
        """The next assistant turn; may be cancelled at any time.

        Raises:
            ModelBusyError: where another try may help.
            ModelUnavailableError: where the model is not there now.
            ContextFullError: where the dialogue does not fit into the model.
            ModelError: where no usable answer came for another reason.
        """

    async def close(self) -> None:
        """Ends connections."""


class WrappedModel:
    """What models around another model have in common."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    async def close(self) -> None:
        """Closes the model behind it."""
        await self._model.close()


def cut_at(text: str, stop: Sequence[str]) -> str:
    """The text up to the first stop string."""
    for word in stop:
        text = text.partition(word)[0]
    return text


def transcript(messages: Sequence[Message]) -> str:
    """The whole dialogue as one text, for traces and comparisons; of pictures their digests."""
    return "\n".join(
        "\n".join([f"[{m.speaker.value}]", *(f"[picture {p.digest}]" for p in m.pictures), m.text])
        for m in messages
    )
