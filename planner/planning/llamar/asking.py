"""Asks the model for one role; replies that cannot be read are asked for again (LLAMAR-D6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from planner.models.caller import Caller, Remark
from planner.models.chat import ChatModel, Message, Speaker
from planner.models.replies.dictionary import Entries
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource
from planner.planning.llamar.role import TeamRole
from planner.planning.llamar.state import Situation
from planner.planning.part import PlannerRequest
from planner.planning.planner_model import DialogueOptions

ValueT = TypeVar("ValueT")

MAX_ATTEMPTS = 3
# Of a refused reply, when it is shown to the model again.
_MAX_SHOWN = 2000


@dataclass
class Asking:
    """The model calls of one planner and task.

    Attributes:
        planner: its name, for the trace.
        model: of all roles; one that chooses by role may stand here (LLAMAR-D7).
        agents: of the task.
        seed: for sampling.
        axes, options, on_call: as in `PlannerRequest`.
        unread: how many requests got no reply that could be read.
        problem: the last of these, in words; "" = none.
        dropped: what was left out of replies, in words.
    """

    planner: str
    model: ChatModel
    agents: tuple[str, ...]
    seed: int = 0
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    unread: int = 0
    problem: str = ""
    dropped: list[str] = field(default_factory=list)

    @staticmethod
    def of(request: PlannerRequest) -> Asking:
        """For a task.

        Raises:
            PlannerError: if there is no model.
        """
        axes = replace(request.axes, control=Control.CENTRALIZED, memory_source=MemorySource.STATE)
        return Asking(
            request.name,
            request.model,
            request.task.agents,
            request.task.seed,
            axes,
            request.dialogue,
            request.on_call,
        )

    async def ask(
        self,
        role: TeamRole[ValueT],
        situation: Situation,
        remark: Callable[[ValueT], Remark] | None = None,
    ) -> ValueT | None:
        """What the role says; None after `MAX_ATTEMPTS` replies that cannot be read.

        `remark` is what the trace records about an accepted reply, besides what was dropped of it.

        Raises:
            ModelError: if there is no reply.
        """
        caller = self._caller(role)
        form = role.form(situation)
        messages = role.messages(situation)

        def noted(entries: Entries) -> Remark:
            note = remark(role.value(entries)) if remark is not None else Remark()
            return replace(note, error="; ".join(f"dropped {what}" for what in entries.dropped))

        for attempt in range(1, MAX_ATTEMPTS + 1):
            reply = await caller.ask(
                messages,
                form,
                agents=self.agents,
                cycle=situation.step + 1,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt)},
                remark=noted,
            )
            if reply.value is not None:
                self.dropped += reply.value.dropped
                return role.value(reply.value)
            self.problem = f"{role.role}: {reply.error}"
            messages = (*messages, *_again(reply.completion.text, str(reply.error)))
        self.unread += 1
        return None

    def _caller(self, role: TeamRole[ValueT]) -> Caller:
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


def _again(said: str, error: str) -> tuple[Message, Message]:
    words = f"That cannot be read: {error}. Write the dictionary with all its keys, nothing else."
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)
