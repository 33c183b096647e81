"""Replies that a planner itself computes from privileged knowledge, for the model `teacher`.

Only such a model asks for them; for all others a request's `reference` is never called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random


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
