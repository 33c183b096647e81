"""Asks the model for one role; replies that cannot be read are asked for again (HELPER-D42)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, TypeVar

from planner.models.caller import Caller
from planner.models.chat import ChatModel, Completion, Message, Speaker
from planner.models.reference import Reader, Reference, ReferenceReply
from planner.models.teacher import FAULT, NO_FAULT, PRIVILEGED
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource, Privilege
from planner.planning.helper.roles import HelperRole
from planner.planning.part import PlannerRequest
from planner.planning.planner import Context, Task
from planner.planning.planner_model import DialogueOptions

ValueT = TypeVar("ValueT")

MAX_ATTEMPTS = 3
# Of a refused reply, when it is shown to the model again.
_MAX_SHOWN = 2000


class RightReplies(Protocol):
    """What a flawless model would reply, with and without faults."""

    async def __call__(
        self, role: HelperRole[object], context: Context, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The reply to one prompt; see `planner.models.reference.Reference`."""


@dataclass
class Asking:
    """The model calls of one task.

    Attributes:
        planner: its name, for the trace.
        model: of all roles; one that chooses by role may stand here.
        task: the task.
        axes, options, on_call: as in `PlannerRequest`.
        calls: number of requests so far.
        unread: how many requests got no reply that could be read.
        problem: the last of these, in words; "" = none.
        right: tells privileged models the right replies; None = nothing does.
        faults: how often each fault was put into a privileged model's replies; None = the model
            is not privileged, as far as its replies so far say.
    """

    planner: str
    model: ChatModel
    task: Task
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    calls: int = 0
    unread: int = 0
    problem: str = ""
    right: RightReplies | None = None
    faults: Counter[str] | None = None

    @staticmethod
    def of(request: PlannerRequest) -> Asking:
        """For a task.

        Raises:
            PlannerError: if there is no model.
        """
        axes = replace(request.axes, control=Control.SINGLE, memory_source=MemorySource.STATE)
        return Asking(
            request.name, request.model, request.task, axes, request.dialogue, request.on_call
        )

    async def ask(
        self,
        role: HelperRole[ValueT],
        context: Context,
        parameters: Mapping[str, str] | None = None,
    ) -> ValueT | None:
        """What the role says; None after `MAX_ATTEMPTS` replies that cannot be read.

        `context` is for privileged models only, `parameters` are recorded with the call.

        Raises:
            ModelError: if there is no reply.
        """
        caller, messages = self._caller(role), role.messages
        for attempt in range(1, MAX_ATTEMPTS + 1):
            self.calls += 1
            reply = await caller.ask(
                messages,
                role.form,
                agents=self.task.agents[:1],
                cycle=self.calls,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt), **(parameters or {})},
                reference=self._reference(role, context),
            )
            self._count(reply.completion)
            if reply.value is not None:
                return reply.value
            self.problem = f"{role.role}: {reply.error}"
            messages = (*messages, *_again(reply.completion.text, str(reply.error)))
        self.unread += 1
        return None

    def _reference(self, role: HelperRole[object], context: Context) -> Reference | None:
        right = self.right
        if right is None:
            return None

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            return await right(role, context, random, reader)

        return Reference(f"{self.task.seed} {_digest(self.task)} {self.calls}", reply)

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

    def _caller(self, role: HelperRole[object]) -> Caller:
        return Caller(
            self.planner,
            self.model,
            role.role,
            seed=self.task.seed,
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


def _again(said: str, error: str) -> tuple[Message, Message]:
    words = f"That cannot be read: {error}. Write all of it in the form that was asked."
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)
