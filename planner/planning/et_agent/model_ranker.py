"""The ranker that asks a language model: four questions, each with its prompt and its grammar."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from planner.models.caller import Caller
from planner.models.chat import ChatModel, Message, Speaker
from planner.models.reference import Reader, Reference, ReferenceReply
from planner.models.replies.form import ReplyForm
from planner.models.role import Role
from planner.models.teacher import FAULT, NO_FAULT, PRIVILEGED
from planner.models.trace import OnCall, ignore_call
from planner.planning.axes import Axes, Control, MemorySource, Privilege
from planner.planning.et_agent.errand import Errand, TaskClass
from planner.planning.et_agent.prompts import (
    classify_prompt,
    decompose_prompt,
    objects_prompt,
    rooms_prompt,
)
from planner.planning.et_agent.ranker import Ranker, RankerName
from planner.planning.et_agent.reading import read_task
from planner.planning.et_agent.replies import ClassReply, ErrandsReply, NamesReply
from planner.planning.et_agent.right_replies import right_errands, right_names, right_word
from planner.planning.part import PlannerRequest
from planner.planning.planner_model import DialogueOptions

ValueT = TypeVar("ValueT")

# What cannot be read is asked for again once (ETPLAN-2.4).
MAX_ATTEMPTS = 2
_MAX_SHOWN = 2000


def model_ranker(
    request: PlannerRequest, usual: Ranker, *, thinks: bool, few_shot: bool
) -> ModelRanker:
    """For one task.

    Args:
        request: of the planner.
        usual: what a flawless model would say, for privileged ones.
        thinks: whether the model is asked to think before it ranks.
        few_shot: whether it sees solved examples.

    Raises:
        PlannerError: if there is no model.
    """
    return ModelRanker(
        planner=request.name,
        model=request.model,
        agents=request.task.agents,
        seed=request.task.seed,
        axes=replace(request.axes, control=Control.SINGLE, memory_source=MemorySource.STATE),
        options=request.dialogue,
        on_call=request.on_call,
        usual=usual,
        thinks=thinks,
        few_shot=few_shot,
    )


@dataclass
class ModelRanker:
    """See `Ranker`.

    Attributes:
        planner: its name, for the trace.
        model: of all roles.
        agents: of the task.
        usual: what a flawless model would say, for privileged ones.
        seed, axes, options, on_call: as in `PlannerRequest`.
        thinks: whether the model is asked to think before it ranks.
        few_shot: whether it sees solved examples.
        unread: how many questions got no reply that could be read; they are answered by the rules
            of reading, by the rooms' own order, and by no furniture.
        faults: how often each fault was put into a privileged model's replies; None = the model
            is not privileged, as far as its replies so far say.
    """

    planner: str
    model: ChatModel
    agents: tuple[str, ...]
    usual: Ranker
    seed: int = 0
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    thinks: bool = False
    few_shot: bool = False
    unread: int = 0
    faults: Counter[str] | None = None
    _asked: int = 0
    _task: str = ""

    @property
    def name(self) -> RankerName:
        """A model."""
        return RankerName.MODEL

    @property
    def evidence(self) -> str:
        """The model's name, what could not be read, and the faults of a privileged one."""
        parts = [self.model.name]
        if self.unread:
            parts.append(f"{self.unread} replies could not be read")
        if self.faults is not None:
            named = ", ".join(f"{fault} {count}" for fault, count in sorted(self.faults.items()))
            parts.append(f"privileged, faults: {named or 'none'}")
        return "; ".join(parts)

    async def classify(self, task: str) -> TaskClass:
        """The model's class; that of the rules where it cannot be read."""
        self._task = task

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            classes = [each.value for each in TaskClass]
            return right_word(await self.usual.classify(task), classes, random)

        form, prompt = ClassReply(), classify_prompt(task)
        found = await self._ask(Role.CLASSIFIER, prompt, form, right)
        return read_task(task).task_class if found is None else found

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:
        """The model's parts; those of the rules where they cannot be read."""
        self._task = task

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            return right_errands(await self.usual.decompose(task, task_class), random)

        prompt = decompose_prompt(task, task_class)
        found = await self._ask(Role.DECOMPOSER, prompt, ErrandsReply(), right)
        return read_task(task).errands if found is None else found

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """The model's order; the given one where it cannot be read."""

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            return right_names(await self.usual.rank_rooms(targets, rooms), rooms, random)

        form = NamesReply(tuple(rooms), complete=True, thinks=self.thinks)
        prompt = rooms_prompt(targets, rooms, thinks=self.thinks, few_shot=self.few_shot)
        found = await self._ask(Role.RANKER, prompt, form, right)
        return tuple(rooms) if found is None else found

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """The model's choice; none where it cannot be read."""
        offered = tuple(dict.fromkeys(visible))

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            right = await self.usual.large_objects(targets, room, visible)
            return right_names(right, offered, random)

        form = NamesReply(offered, thinks=self.thinks)
        prompt = objects_prompt(targets, room, visible, thinks=self.thinks, few_shot=self.few_shot)
        found = await self._ask(Role.PROPOSER, prompt, form, right)
        return () if found is None else found

    async def _ask(
        self,
        role: Role,
        messages: tuple[Message, ...],
        form: ReplyForm[ValueT],
        right: Callable[[Random, Reader], Awaitable[ReferenceReply]],
    ) -> ValueT | None:
        caller = Caller(
            self.planner,
            self.model,
            role,
            seed=self.seed,
            deadline_s=self.options.deadline_s,
            constrained=self.options.constrained,
            parameters=self.axes.as_parameters(),
            on_call=self.on_call,
        )
        for attempt in range(1, MAX_ATTEMPTS + 1):
            self._asked += 1
            reply = await caller.ask(
                messages,
                form,
                agents=self.agents[:1],
                cycle=self._asked,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt)},
                reference=Reference(self._key(), right),
            )
            self._count(reply.completion.notes)
            if reply.value is not None:
                return reply.value
            messages = (*messages, *_again(reply.completion.text, str(reply.error)))
        self.unread += 1
        return None

    def _key(self) -> str:
        digest = hashlib.sha256(self._task.encode()).hexdigest()[:16]
        return f"{self.seed} {digest} {self._asked}"

    def _count(self, notes: Mapping[str, str]) -> None:
        if notes.get(PRIVILEGED) is None:
            return
        if self.faults is None:
            # Only its replies say so: any model may stand behind another one, or behind a role.
            self.faults = Counter()
            self.axes = replace(self.axes, privilege=Privilege.GOAL)
        fault = notes.get(FAULT, NO_FAULT)
        if fault != NO_FAULT:
            self.faults[fault] += 1


def _again(said: str, error: str) -> tuple[Message, Message]:
    words = f"That cannot be read: {error}. Write all of it in the form that was asked."
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)
