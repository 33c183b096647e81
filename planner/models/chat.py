"""The seam between planners and language models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from planner.world.errors import PlannerError


class ModelError(PlannerError):
    """A language model that gave no usable answer; the text says which and why."""


class ModelAwayError(ModelError):
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
    """One turn of a dialogue."""

    speaker: Speaker
    text: str


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
        """The next assistant turn; may be cancelled at any time.

        Args:
            messages: the dialogue so far.
            grammar: GBNF text that the answer shall follow; "" leaves it free. A model that
                cannot be held to a grammar ignores it, so answers are always parsed.
            stop: strings at which the answer ends; they are not part of it.
            max_tokens: the longest answer.
            seed: of the sampling, where the model takes one.
            deadline_s: wall seconds for everything, tries included.

        Raises:
            ModelAwayError: where the model is not there now.
            ContextFullError: where the dialogue does not fit into the model.
            ModelError: where no usable answer came in time for another reason.
        """

    async def close(self) -> None:
        """Ends connections."""


def transcript(messages: Sequence[Message]) -> str:
    """The whole dialogue as one text, for traces and comparisons."""
    return "\n".join(f"[{m.speaker.value}]\n{m.text}" for m in messages)
