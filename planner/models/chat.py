"""The interface of language and vision-language models, their record, and their requests."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Protocol

from planner.parts.catalog import Catalog
from planner.parts.option import Option, Options, OptionValue
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    from planner.world.observation import RgbImage


# What a call of a model is for.


class Role(StrEnum):
    """Which part calls the model. Older traces and dialogues have no role, which means PLANNER.

    PLANNER decides what agents do next. MEMORY edits the memory or searches it. ACTOR turns a plan
    into calls, CORRECTOR fixes a call that failed, VERIFIER judges whether a sub-task is complete.
    MESSENGER writes what one agent may tell the others. LOCATOR says near what a thing may be.
    GENERATOR writes episodes. CLASSIFIER says of which class a task is, DECOMPOSER what its parts
    are, RANKER in which order to search rooms, PROPOSER which furniture is worth a visit.
    CAPTIONER describes a picture.
    """

    PLANNER = "planner"
    MEMORY = "memory"
    ACTOR = "actor"
    CORRECTOR = "corrector"
    VERIFIER = "verifier"
    MESSENGER = "messenger"
    LOCATOR = "locator"
    GENERATOR = "generator"
    CLASSIFIER = "classifier"
    DECOMPOSER = "decomposer"
    RANKER = "ranker"
    PROPOSER = "proposer"
    CAPTIONER = "captioner"


# Pictures in messages to models.

# Imported where a picture is made: most importers of messages have none.


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as PNG, so that messages compare and hash by its pixels."""

    png: bytes

    @staticmethod
    def of(image: RgbImage) -> Picture:
        """Encodes an image, (h, w, 3) uint8 RGB.

        Raises:
            PlannerError: if the array is not such an image.
        """
        import cv2
        import numpy as np

        done, body = cv2.imencode(".png", np.ascontiguousarray(image[..., ::-1]))
        if not done:
            raise PlannerError("the picture cannot be encoded")
        return Picture(body.tobytes())

    @property
    def image(self) -> RgbImage:
        """The image, (h, w, 3) uint8 RGB."""
        import cv2
        import numpy as np

        decoded = cv2.imdecode(np.frombuffer(self.png, np.uint8), cv2.IMREAD_COLOR)
        if decoded is None:
            raise PlannerError("the picture cannot be decoded")
        return np.ascontiguousarray(decoded[..., ::-1], np.uint8)

    @property
    def digest(self) -> str:
        """Identifies the picture in traces and recordings."""
        return hashlib.sha256(self.png).hexdigest()[:16]

    @property
    def data_url(self) -> str:
        """The form that HTTP servers accept."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


# Replies that a planner itself computes from privileged knowledge, for the model `teacher`.
#
# Only such a model asks for them; for all others a request's `reference` is never called.


class Fault(StrEnum):
    """What may be wrong with a reply.

    INVENTED_ENTITY: it names something that does not exist. WRONG_ENTITY: something else than it
    should. SKIPPED_STEP: it leaves a step out. REPEATED_STEP: it has a step that is done.
    EARLY_DONE: it claims that the task is complete. MALFORMED: it is not of the asked form.
    UNNOTICED_FAILURE: it takes a failed action for a success.
    """

    INVENTED_ENTITY = "invented_entity"
    WRONG_ENTITY = "wrong_entity"
    SKIPPED_STEP = "skipped_step"
    REPEATED_STEP = "repeated_step"
    EARLY_DONE = "early_done"
    MALFORMED = "malformed"
    UNNOTICED_FAILURE = "unnoticed_failure"


class Knows(StrEnum):
    """What a right reply follows from, besides the structured goal.

    PROMPT: what the prompt says, and nothing else. MEMORY: all that the memory knows.
    """

    PROMPT = "prompt"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Reader:
    """How a privileged model reads its prompt.

    Attributes:
        knows: what the right reply follows from.
        heeds: whether a reply, with a fault or not, never contradicts what other roles wrote in
            the prompt, right or wrong.
    """

    knows: Knows = Knows.MEMORY
    heeds: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceReply:
    """The reply that a flawless model would give, and the same with one fault.

    Attributes:
        flawless: without any.
        faulty: by fault; those that cannot happen in this reply, such as not noticing a failure
            where nothing failed, are missing.
        acts: whether it decides what agents do, and not what other roles read.
    """

    flawless: str
    faulty: Mapping[Fault, str] = field(default_factory=dict)
    acts: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """The right reply to one request.

    Attributes:
        key: of the request: seed, task and number. What a privileged model draws follows from it.
        reply: computes it. The generator chooses among faulty replies of one kind. Raises
            `ModelError`.
    """

    key: str
    reply: Callable[[Random, Reader], Awaitable[ReferenceReply]]


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


# Wall seconds for one reply, where nothing else is said.
DEADLINE_S = 60.0


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
    deadline_s: float = DEADLINE_S
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


# Neutralises chat-template markup in text from outside.
#
# Tokenizers read `<|eot_id|>` as the end of a turn wherever it occurs: in an instruction, or in
# what a model or a person wrote about a thing. Inserting a blank makes it plain text.

# Llama, Qwen and Phi; Mistral; Gemma.
_MARKUP = re.compile(r"<(?=\|)|[<\[](?=/?(?:s>|INST\]))|<(?=(?:start|end)_of_turn>)")


def plain(messages: Iterable[Message], own_end: str = "") -> tuple[Message, ...]:
    """The messages without markup, except a trailing `own_end`, a token of the caller's own."""
    return tuple(
        replace(message, text=_plain(message.text, own_end))
        if _MARKUP.search(message.text)
        else message
        for message in messages
    )


def _plain(text: str, own_end: str) -> str:
    own = own_end if own_end and text.endswith(own_end) else ""
    return _MARKUP.sub(lambda found: f"{found[0]} ", text.removesuffix(own)) + own


# The record of a chat model: what it needs, its options, how it is made.

INTERFACE = 1


@dataclass(frozen=True, slots=True)
class ModelRequest(Options):
    """The arguments for making a model.

    Attributes:
        source: what follows the part's name and a colon, such as a folder.
        url: base URL of a server.
        options: the values of all options that the part declares.
        episode_id, seed: of the episode, for parts made for each.
    """

    source: str = ""
    url: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    episode_id: str = ""
    seed: int = 0


def accept(_request: ModelRequest) -> None:
    """Accepts every request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """The record of a chat model.

    Attributes:
        summary: one line for the help.
        make: makes the model, which may be slow; raises `PlannerError`.
        source: what users write after the name and a colon, such as `FOLDER`; "" = nothing.
        source_is_path: whether that is a path, which command lines make absolute.
        needs_url: whether it is behind a server.
        per_episode: whether a new one is made for each episode of a run, because its replies are
            scripted.
        takes_pictures: whether messages may have images.
        holds_grammar: whether its replies always follow the grammar.
        reads_goal: whether it is privileged: it reads the structured goal of an episode.
        check: raises `PlannerError` for unusable arguments, before the first episode.
        options: options that may be set.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[ModelRequest], ChatModel]
    source: str = ""
    source_is_path: bool = False
    needs_url: bool = False
    per_episode: bool = False
    takes_pictures: bool = False
    holds_grammar: bool = False
    reads_goal: bool = False
    check: Callable[[ModelRequest], None] = accept
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


MODELS: Catalog[ModelPart] = Catalog(
    "model", "planner.models.models", "MODELS", f"{__name__}:ModelPart", INTERFACE
)
TEMPERATURE = Option(
    "temperature", 0.0, "sampling temperature; 0 = greedy", min_value=0.0, max_value=10.0
)
# Of commands, of the bring-up and of the task planner's node.
MODEL_DEADLINE = Option(
    "model_deadline", DEADLINE_S, "seconds for one reply of the model", 0.1, max_value=3600.0
)
MODEL_WAIT = Option("model_wait", 600.0, "seconds to wait for an unavailable model", min_value=0.0)
