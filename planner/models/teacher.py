"""Models that stand in for real ones: predefined replies, or known answers with seeded faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from planner.models.chat import (
    Completion,
    Fault,
    Knows,
    Message,
    ModelError,
    Reader,
    ReferenceReply,
    Request,
    Role,
    Timings,
    Usage,
    cut_at,
)
from planner.world.errors import PlannerError

# Under these keys a call's trace has what the teacher did.
PRIVILEGED, FAULT, HEEDS = "privileged", "fault", "heeds_roles"
NO_FAULT = "none"
_READS = {Knows.PROMPT: "reads the goal and its prompt", Knows.MEMORY: "reads the goal"}


@dataclass(frozen=True, slots=True)
class Skill:
    """How good the teacher is.

    Attributes:
        rates: probability of each fault in a reply; what is missing never happens.
        heeding: probability that a reply never contradicts what other roles wrote in the prompt,
            right or wrong.
        knows: what right replies follow from.
        shares: by role, the part of the rates that holds for its replies that do not act; 1 for
            roles that are missing. Who acts has the rates themselves.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    heeding: float = 0.0
    knows: Knows = Knows.MEMORY
    shares: Mapping[Role, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            PlannerError: for rates that are no probabilities of exclusive events.
        """
        total = sum(self.rates.values())
        if any(rate < 0 for rate in self.rates.values()) or total > 1 + 1e-9:
            raise PlannerError(f"the teacher's fault rates have to add up to 0 to 1, not {total:g}")
        shares = {f"{role}_faults": share for role, share in self.shares.items()}
        for what, value in (("heeding", self.heeding), *shares.items()):
            if not 0 <= value <= 1:
                raise PlannerError(f"the teacher's {what} has to be 0 to 1, not {value:g}")

    def fault(self, number: float, share: float = 1.0) -> Fault | None:
        """The fault that a number drawn from 0 to 1 stands for, if `share` of the rates hold."""
        for fault in Fault:
            number -= share * self.rates.get(fault, 0.0)
            if number < 0:
                return fault
        return None


class Teacher:
    """Replies with each request's reference, now and then with a fault.

    It keeps nothing between requests: the draws follow from a reference's key, so a task gets the
    same replies in whatever process it runs, and beside whatever other tasks.
    """

    def __init__(self, skill: Skill) -> None:
        """Flawless with an empty `skill`."""
        self._skill = skill

    @property
    def name(self) -> str:
        """Says that it is privileged, and how often it errs."""
        skill = self._skill
        rates = ", ".join(f"{fault} {rate:g}" for fault, rate in skill.rates.items() if rate)
        heeding = f", heeding {skill.heeding:g}" if skill.heeding else ""
        shares = "".join(f", {role} {one:g} of it" for role, one in skill.shares.items() if one < 1)
        return f"teacher ({_READS[skill.knows]}; {rates or 'no faults'}{heeding}{shares})"

    async def complete(self, request: Request) -> Completion:
        """The reference, flawless or with the drawn fault if that can happen in it.

        Raises:
            ModelError: if the planner computes no references.
        """
        reference, skill = request.reference, self._skill
        if reference is None:
            raise ModelError(
                "the model teacher needs a planner that tells it the right replies, such as react; "
                "this request tells none"
            )
        random = Random(reference.key)
        number, heeds = random.random(), random.random() < skill.heeding
        reply = await reference.reply(random, Reader(skill.knows, heeds))
        share = 1.0 if reply.acts else skill.shares.get(request.role, 1.0)
        text, fault = _with(reply, skill.fault(number, share))
        words = sum(len(message.text.split()) for message in request.messages)
        return Completion(
            cut_at(text, request.stop),
            Usage(prompt_tokens=words, reply_tokens=len(text.split())),
            Timings(0.0, 0.0),
            notes={
                PRIVILEGED: "true",
                FAULT: fault.value if fault is not None else NO_FAULT,
                HEEDS: str(heeds).lower(),
            },
        )

    async def close(self) -> None:
        """Does nothing."""


def _with(reply: ReferenceReply, fault: Fault | None) -> tuple[str, Fault | None]:
    if fault is Fault.MALFORMED:
        # As of a model whose reply breaks off.
        return reply.flawless[: len(reply.flawless) // 2], fault
    if fault is None or fault not in reply.faulty:
        return reply.flawless, None
    return reply.faulty[fault], fault


# A model with predefined replies, for tests and demonstrations.

Reply = Callable[[Sequence[Message]], str]


class ScriptedModel:
    """Replies from a list in order, or computed by a function of the dialogue."""

    name = "scripted"

    def __init__(self, replies: Sequence[str] | Reply) -> None:
        self._replies = replies
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[tuple[Message, ...]]:
        """All dialogues so far."""
        return [request.messages for request in self.requests]

    async def complete(self, request: Request) -> Completion:
        """The next reply, cut at the first stop string as a server would.

        Raises:
            ModelError: after the last one.
        """
        self.requests.append(request)
        text = cut_at(self._next(request.messages), request.stop)
        words = sum(len(message.text.split()) for message in request.messages)
        usage = Usage(prompt_tokens=words, reply_tokens=len(text.split()))
        return Completion(text, usage, Timings(0.0, 0.0))

    def _next(self, messages: Sequence[Message]) -> str:
        if callable(self._replies):
            return self._replies(messages)
        count = len(self.requests)
        if count > len(self._replies):
            raise ModelError(f"the script has {len(self._replies)} replies, not {count}")
        return self._replies[count - 1]

    async def close(self) -> None:
        """Does nothing."""
