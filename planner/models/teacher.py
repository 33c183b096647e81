"""A model that knows the answers, with seeded faults: it stands for models that are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from planner.models.chat import Completion, ModelError, Request, Timings, Usage, cut_at
from planner.models.reference import Fault, ReferenceReply
from planner.world.errors import PlannerError

# Under these keys a call's trace has what the teacher did.
PRIVILEGED, FAULT, HEEDS = "privileged", "fault", "heeds_roles"
NO_FAULT = "none"


@dataclass(frozen=True, slots=True)
class Skill:
    """How good the teacher is.

    Attributes:
        rates: probability of each fault in a reply; what is missing never happens.
        heeding: probability that a reply follows what other roles wrote in the prompt, right or
            wrong, wherever it contradicts what this reply would have said.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    heeding: float = 0.0

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            PlannerError: for rates that are no probabilities of exclusive events.
        """
        total = sum(self.rates.values())
        if any(rate < 0 for rate in self.rates.values()) or total > 1 + 1e-9:
            raise PlannerError(f"the teacher's fault rates have to add up to 0 to 1, not {total:g}")
        if not 0 <= self.heeding <= 1:
            raise PlannerError(f"the teacher's heeding has to be 0 to 1, not {self.heeding:g}")

    def draw(self, random: Random) -> Fault | None:
        """At most one fault a reply; always takes one number from the generator."""
        number = random.random()
        for fault in Fault:
            number -= self.rates.get(fault, 0.0)
            if number < 0:
                return fault
        return None


class Teacher:
    """Replies with each request's reference, now and then with a fault.

    The draws follow from seed, episode and number of the call, so they do not depend on what is
    asked.
    """

    def __init__(self, skill: Skill, *, episode_id: str = "", seed: int = 0) -> None:
        """Flawless with an empty `skill`."""
        self._skill, self._seed = skill, f"{seed} {episode_id}"
        self._calls = 0

    @property
    def name(self) -> str:
        """Says that it is privileged, and how often it errs."""
        rates = ", ".join(f"{fault} {rate:g}" for fault, rate in self._skill.rates.items() if rate)
        heeding = f", heeding {self._skill.heeding:g}" if self._skill.heeding else ""
        return f"teacher (reads the goal; {rates or 'no faults'}{heeding})"

    async def complete(self, request: Request) -> Completion:
        """The reference, flawless or with the drawn fault if that can happen in it.

        Raises:
            ModelError: if the planner computes no references.
        """
        if request.reference is None:
            raise ModelError(
                "the model teacher needs a planner that tells it the right replies: llamar, "
                "llamar_act, llamar_react or llamar_cot"
            )
        self._calls += 1
        random = Random(f"{self._seed} {self._calls}")
        fault, heeds = self._skill.draw(random), random.random() < self._skill.heeding
        reply = await request.reference(random, heeds)
        text, fault = _with(reply, fault)
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
