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


@dataclass(frozen=True, slots=True)
class ReferenceReply:
    """The reply that a flawless model would give, and the same with one fault.

    Attributes:
        flawless: without any.
        faulty: by fault; those that cannot happen in this reply, such as not noticing a failure
            where nothing failed, are missing.
    """

    flawless: str
    faulty: Mapping[Fault, str] = field(default_factory=dict)


# Of this request; the generator chooses among faulty replies of one kind. The flag says whether
# the reply follows what other roles wrote in the prompt, right or wrong. Raises `ModelError`.
Reference = Callable[[Random, bool], Awaitable[ReferenceReply]]
