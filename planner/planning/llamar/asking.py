"""Asks the model for one role; replies that cannot be read are asked for again (LLAMAR-D6)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, TypeVar

from planner.models.caller import Caller, Remark
from planner.models.chat import ChatModel, Completion, Message, Speaker
from planner.models.reference import Reader, Reference, ReferenceReply
from planner.models.teacher import FAULT, NO_FAULT, PRIVILEGED
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource, Privilege
from planner.planning.llamar.role import PromptingRole, ReadT, TeamRole
from planner.planning.llamar.state import Situation
from planner.planning.part import PlannerRequest
from planner.planning.planner import Task
from planner.planning.planner_model import DialogueOptions

ValueT = TypeVar("ValueT")

MAX_ATTEMPTS = 3
# Of a refused reply, when it is shown to the model again.
_MAX_SHOWN = 2000
_WHOLE = "Write all of it in the form that was asked, nothing else."


class RightReplies(Protocol):
    """What a flawless model would reply, with and without faults."""

    async def __call__(
        self, role: PromptingRole, situation: Situation, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The reply of a role to one prompt; see `planner.models.reference.Reference`."""


@dataclass
class Asking:
    """The model calls of one planner and task.

    Attributes:
        planner: its name, for the trace.
        model: of all roles; one that chooses by role may stand here (LLAMAR-D7).
        agents: of the task.
        seed: for sampling.
        task: what distinguishes the task from others, for what privileged models draw.
        axes, options, on_call: as in `PlannerRequest`.
        unread: how many requests got no reply that could be read.
        problem: the last of these, in words; "" = none.
        dropped: what was left out of replies, in words.
        right: tells privileged models the right replies; None = nothing does.
        faults: how often each fault was put into a privileged model's replies; None = the model
            is not privileged, as far as its replies so far say.
    """

    planner: str
    model: ChatModel
    agents: tuple[str, ...]
    seed: int = 0
    task: str = ""
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    unread: int = 0
    problem: str = ""
    dropped: list[str] = field(default_factory=list)
    right: RightReplies | None = None
    faults: Counter[str] | None = None
    _asked: int = 0

    @staticmethod
    def of(request: PlannerRequest, control: Control = Control.CENTRALIZED) -> Asking:
        """For a task; `control` says whether one model decides for all agents.

        Raises:
            PlannerError: if there is no model.
        """
        axes = replace(request.axes, control=control, memory_source=MemorySource.STATE)
        return Asking(
            request.name,
            request.model,
            request.task.agents,
            request.task.seed,
            _digest(request.task),
            axes,
            request.dialogue,
            request.on_call,
        )

    async def ask(
        self,
        role: TeamRole[ReadT, ValueT],
        situation: Situation,
        remark: Callable[[ValueT], Remark] | None = None,
        agents: tuple[str, ...] = (),
        refuse: Callable[[ValueT], str] = lambda _: "",
    ) -> ValueT | None:
        """What the role says; None after `MAX_ATTEMPTS` replies that cannot be read or are refused.

        `remark` is what the trace records about an accepted reply, besides what was dropped of it;
        `agents` are those that the call is about, all if empty; `refuse` says why a reply that can
        be read is not taken, "" = it is.

        Raises:
            ModelError: if there is no reply.
        """
        caller = self._caller(role)
        form = role.form(situation)
        messages = role.messages(situation)

        def noted(entries: ReadT) -> Remark:
            note = remark(role.value(entries)) if remark is not None else Remark()
            why = refuse(role.value(entries))
            errors = ([f"refused: {why}"] if why else []) + [
                f"dropped {w}" for w in entries.dropped
            ]
            return replace(note, error="; ".join(errors))

        for attempt in range(1, MAX_ATTEMPTS + 1):
            reply = await caller.ask(
                messages,
                form,
                agents=agents or self.agents,
                cycle=situation.step + 1,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt)},
                remark=noted,
                reference=self._reference(role, situation),
            )
            self._count(reply.completion)
            if reply.value is None:
                error = str(reply.error)
                words = f"That cannot be read: {error}. {_WHOLE}"
            else:
                self.dropped += reply.value.dropped
                value = role.value(reply.value)
                error = refuse(value)
                if not error:
                    return value
                words = f"That is not taken: {error}. {_WHOLE}"
            self.problem = f"{role.role}: {error}"
            messages = (*messages, *_again(reply.completion.text, words))
        self.unread += 1
        return None

    def _reference(self, role: TeamRole[ReadT, ValueT], situation: Situation) -> Reference | None:
        right = self.right
        if right is None:
            return None

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            return await right(role, situation, random, reader)

        self._asked += 1
        return Reference(f"{self.seed} {self.task} {self._asked}", reply)

    def _count(self, completion: Completion) -> None:
        if completion.notes.get(PRIVILEGED) is None:
            return
        if self.faults is None:
            # Only its replies say so: any model may stand behind another one, or behind a role.
            self.faults = Counter()
            self.axes = replace(self.axes, privilege=Privilege.GOAL)
        fault = completion.notes.get(FAULT, NO_FAULT)
        if fault != NO_FAULT:
            self.faults[fault] += 1

    def _caller(self, role: TeamRole[ReadT, ValueT]) -> Caller:
        return Caller(
            self.planner,
            self.model,
            role.role,
            seed=self.seed,
            deadline_s=self.options.deadline_s,
            constrained=self.options.constrained,
            parameters=self.axes.as_parameters(),
            on_call=self.on_call,
        )


def _digest(task: Task) -> str:
    """Of what makes a task: its words, its goal and who does it."""
    whole = json.dumps(
        [task.instruction, task.agents, task.goal and dict(task.goal)], sort_keys=True
    )
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def _again(said: str, words: str) -> tuple[Message, Message]:
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)
