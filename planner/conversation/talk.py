"""What a robot does about what is said while it carries out a task, and what it replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from planner.conversation.utterances import Kind, utterance_of
from planner.world.belief import Belief
from planner.world.skill import SkillCall
from planner.world.topics import InstructionCode, one_line
from planner.world.vocabulary import Relation

PERSON, ROBOT = "person", "robot"
# What is kept of a conversation, and of one thing said.
MAX_SAID, MAX_CHARACTERS = 40, 400


class Session(Protocol):
    """A task in progress, see `planner.planning.session.Session`."""

    @property
    def is_held(self) -> bool:
        """Whether a person has stopped the agents."""

    @property
    def running(self) -> Mapping[str, SkillCall]:
        """The call of each busy agent."""

    def hold(self) -> None:
        """All agents stand until `go_on`."""

    def go_on(self) -> None:
        """What was stopped goes on."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that was said.

    Attributes:
        stamp_s: on the world's clock.
        who: `person` or `robot`.
    """

    stamp_s: float
    who: str
    text: str


def as_json(said: Sequence[Said]) -> str:
    """A conversation as it is published: oldest first; "" = nothing was said."""
    found = [{"t": round(one.stamp_s, 3), "who": one.who, "text": one.text} for one in said]
    return json.dumps(found, ensure_ascii=False) if found else ""


class Next(StrEnum):
    """What becomes of the task that is told of: nothing, or it comes afterwards or instead."""

    NOTHING = "nothing"
    QUEUE = "queue"
    REPLACE = "replace"
    END = "end"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one thing said.

    Attributes:
        question: what has to be answered first; then the same is said again, with the answer.
        next: what becomes of the running task.
        instruction: the task that comes next, for QUEUE and REPLACE.
        stands: whether it holds only once all agents stand.
    """

    text: str
    code: InstructionCode = InstructionCode.DONE
    question: str = ""
    next: Next = Next.NOTHING
    instruction: str = ""
    stands: bool = False


NOTHING_TO_STOP = "nothing was done: nothing was under way that could be stopped"
NOTHING_TO_GO_ON = "nothing was done: nothing was stopped that could go on"


def reply_without_task(text: str) -> Reply | None:
    """The reply to what is about a running task where there is none; None for all else."""
    kind = utterance_of(text).kind
    if kind in (Kind.STOP, Kind.CANCEL):
        return Reply(NOTHING_TO_STOP, InstructionCode.NO_GOAL)
    if kind is Kind.GO_ON:
        return Reply(NOTHING_TO_GO_ON, InstructionCode.NO_GOAL)
    return None


class Talk:
    """The conversation about one task, from its acceptance to its end."""

    def __init__(
        self, instruction: str, belief: Callable[[], Belief], now_s: Callable[[], float]
    ) -> None:
        """`now_s`: of the world's clock."""
        self.instruction = instruction
        self._belief, self._now_s = belief, now_s
        self._session: Session | None = None
        # Said before the task has begun.
        self._is_held = False
        self.said: tuple[Said, ...] = ()

    def begin(self, session: Session) -> None:
        """The task begins; it stands if it was stopped before."""
        self._session = session
        if self._is_held:
            session.hold()

    @property
    def is_held(self) -> bool:
        """Whether the task was stopped and may go on."""
        return self._is_held if self._session is None else self._session.is_held

    def hear(self, text: str) -> Reply:
        """Does what is said and tells what to reply."""
        self._note(PERSON, text)
        reply = self._reply(text)
        if not reply.stands:
            self._note(ROBOT, reply.question or reply.text)
        return reply

    def standing(self, reply: Reply) -> Reply:
        """The reply once all agents stand, with what they hold then."""
        told = replace(reply, text=f"{reply.text} {self._held_things()}".strip())
        self._note(ROBOT, told.text)
        return told

    def _note(self, who: str, text: str) -> None:
        one = Said(self._now_s(), who, one_line(text)[:MAX_CHARACTERS])
        self.said = (*self.said, one)[-MAX_SAID:]

    def _reply(self, text: str) -> Reply:
        said = utterance_of(text)
        if said.kind is Kind.STOP:
            return self._stop()
        if said.kind is Kind.GO_ON:
            return self._go_on()
        if said.kind is Kind.CANCEL:
            return Reply("The task is ended; all agents stand.", next=Next.END, stands=True)
        if said.stops:
            self._hold()
        busy = (
            f"another instruction is being followed: {self.instruction[:80]!r}; "
            "cancel it first, or wait for its end"
        )
        return Reply(busy, InstructionCode.BUSY)

    def _hold(self) -> None:
        self._is_held = True
        if self._session is not None:
            self._session.hold()

    def _stop(self) -> Reply:
        self._hold()
        text = 'All agents stand. The task waits: say "go on" to go on with it, or "cancel".'
        return Reply(text, stands=True)

    def _go_on(self) -> Reply:
        if not self.is_held:
            return Reply(f"I am at it: {self.instruction[:200]}")
        self._is_held = False
        if self._session is not None:
            self._session.go_on()
        return Reply(f"I go on with: {self.instruction[:200]}")

    def _held_things(self) -> str:
        belief = self._belief()
        held = [
            f"{node.parent} holds {node.name}."
            for node in belief.nodes.values()
            if node.relation is Relation.HELD and node.parent
        ]
        return " ".join(held)
