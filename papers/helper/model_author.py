"""The author that asks a language model for its roles, with examples from the program memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar
from weakref import finalize

from papers.helper.author import FailedStatement
from papers.helper.diagnosis import Diagnosis, diagnose
from papers.helper.program_memory import Nearest, ProgramMemory
from papers.helper.program_store import RecordKind
from papers.helper.programs.program import Program, default_vocabulary
from papers.helper.roles import Example, HelperRole, LocatorRole, PlannerRole, RectifierRole
from planner.memory.maps.object_map import ImageTextMatcher
from planner.models.caller import OnCall, ignore_call
from planner.models.chat import ChatModel, Message, Reader, Reference, ReferenceReply, Speaker
from planner.planning.part import PlannerRequest
from planner.planning.planner import Context, Task
from planner.planning.planner_model import (
    AsksInRoles,
    Axes,
    Control,
    DialogueOptions,
    MemorySource,
    task_digest,
)
from planner.world.belief import BeliefNode
from planner.world.embedding import load_encoder
from planner.world.vocabulary import EntityKind

# Asks the model for one role; replies that cannot be read are asked for again (HELPER-D42).

ValueT = TypeVar("ValueT")

MAX_ATTEMPTS = 3
# Of a refused reply, when it is shown to the model again.
_MAX_SHOWN = 2000


class RightReplies(Protocol):
    """What a flawless model would reply, with and without faults."""

    async def __call__(
        self, role: HelperRole[object], context: Context, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The reply to one prompt; see `planner.models.chat.Reference`."""


@dataclass
class Asking(AsksInRoles):
    """The model calls of one task.

    Attributes, besides those of `AsksInRoles`:
        task: the task.
        calls: number of requests so far.
        unread: how many requests got no reply that could be read.
        problem: the last of these, in words; "" = none.
        right: tells privileged models the right replies; None = nothing does.
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
        caller, messages = self.caller(role.role, self.task.seed), role.messages
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
            self.count_fault(reply.completion.notes)
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

        return Reference(f"{self.task.seed} {task_digest(self.task)} {self.calls}", reply)


def _again(said: str, error: str) -> tuple[Message, Message]:
    words = f"That cannot be read: {error}. Write all of it in the form that was asked."
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)


# The examples of prompts, from the program memory (HELPER-2.2).


class Examples:
    """Finds the examples for one task.

    Attributes:
        memory: closed with this object.
        shown: the ids of the records of the last prompt, for the trace.
    """

    def __init__(self, memory: ProgramMemory, count: int) -> None:
        """`count`: examples of a prompt; 0 = none."""
        self.memory, self._count = memory, count
        self.shown: tuple[int, ...] = ()
        finalize(self, memory.close)

    def of(self, dialogue: str, kind: RecordKind, failure: str = "") -> tuple[Example, ...]:
        """The nearest ones first.

        Args:
            dialogue: what was said.
            kind: plans or corrections, of which only one kind is returned.
            failure: the sentence of a failure, for corrections.

        Raises:
            FileError: if the file of the memory cannot be read.
        """
        found: Nearest = ()
        if self._count:
            found = self.memory.nearest(dialogue, kind, self._count, failure=failure)
        self.shown = tuple(record.id for _, record in found)
        return tuple(Example(r.key, r.program, r.failure) for _, r in found)


def open_memory(path: str, encoder: str, *, fixed: bool = False) -> ProgramMemory:
    """The memory of an option's texts; without a path it has the shipped examples only.

    Raises:
        FileError: for a file that is not a program memory.
        PlannerError: for a folder that is not an encoder.
    """
    embedder = load_encoder(Path(encoder)) if encoder else None
    return ProgramMemory.open(Path(path) if path else None, embedder, fixed=fixed)


class ModelAuthor:
    """A `papers.helper.author.ProgramAuthor` for one task."""

    def __init__(
        self, asking: Asking, examples: Examples, matcher: ImageTextMatcher | None = None
    ) -> None:
        """`matcher` reads failures from pictures; None = they follow from the skills' codes."""
        self._asking, self._examples, self._matcher = asking, examples, matcher
        self._diagnoses: list[str] = []
        self._shown: Counter[int] = Counter()

    @property
    def problem(self) -> str:
        """Why the last reply could not be read; "" = it could."""
        return self._asking.problem

    @property
    def evidence(self) -> Mapping[str, str]:
        """Number of calls and unread replies, diagnoses, examples, faults of a privileged model."""
        asking = self._asking
        faults: Mapping[str, int] = asking.faults or {}
        return {
            **asking.axes.as_parameters(),
            "model_calls": str(asking.calls),
            "unread_replies": str(asking.unread),
            "diagnoses": "; ".join(self._diagnoses)[:2000],
            "examples": ", ".join(map(str, sorted(self._shown))),
            "faults": ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items())),
        }

    async def program(self, dialogue: str, context: Context) -> Program | None:
        """The planner's program.

        Raises:
            ModelError: if there is no reply.
        """
        examples = self._examples.of(dialogue, RecordKind.PLAN)
        role = PlannerRole(dialogue, examples, classes_of(context))
        return await self._asking.ask(role, context, self._note_examples())

    async def repair(
        self, failure: FailedStatement, dialogue: str, context: Context
    ) -> Program | None:
        """The rectifier's program, after a diagnosis.

        Raises:
            ModelError: if there is no reply.
            PlannerError: if the image-text model scores the sentences wrongly.
        """
        diagnosis = self._diagnosis(failure, context)
        self._diagnoses.append(f"{failure.statement}: {diagnosis.chosen.name}")
        sentence = diagnosis.sentence
        examples = self._examples.of(dialogue, RecordKind.CORRECTION, sentence)
        role = RectifierRole(failure.statement, sentence, dialogue, examples, classes_of(context))
        seen = diagnosis.by_picture
        notes = {
            "diagnosis": sentence,
            "diagnosed_by": diagnosis.diagnosed.value,
            "failure_by_code": diagnosis.by_code.name,
            "failure_by_picture": seen.name if seen is not None else "",
        }
        repair = await self._asking.ask(role, context, {**self._note_examples(), **notes})
        return None if repair is None else repair.program

    def _diagnosis(self, failure: FailedStatement, context: Context) -> Diagnosis:
        picture = context.picture(failure.agent) if self._matcher is not None else None
        image = picture.image if picture is not None else None
        return diagnose(failure.code, failure.method, picture=image, matcher=self._matcher)

    async def places(self, target: str, dialogue: str, context: Context) -> tuple[str, ...]:
        """The locator's three categories.

        Raises:
            ModelError: if there is no reply.
        """
        role = LocatorRole(target, dialogue, classes_of(context))
        return await self._asking.ask(role, context) or ()

    def _note_examples(self) -> Mapping[str, str]:
        self._shown.update(self._examples.shown)
        return {"examples": ", ".join(map(str, self._examples.shown))}


def classes_of(context: Context) -> tuple[str, ...]:
    """The closed list, and names of classes beyond it that are known to be in the house."""
    known = {piece.class_name for piece in context.layout.furniture}
    known |= {
        node.class_name for node in context.belief.nodes.values() if node.kind is EntityKind.OBJECT
    }
    return _names(frozenset(known))


@lru_cache(maxsize=64)
def _names(known: frozenset[str]) -> tuple[str, ...]:
    vocabulary = default_vocabulary()
    named = {vocabulary.name_of(word) for word in known} - {None, *vocabulary.names}
    return (*vocabulary.names, *sorted(name for name in named if name is not None))


def is_of(category: str, node: BeliefNode) -> bool:
    """Whether something is of a category of programs."""
    return node.class_name in default_vocabulary().classes_of(category)
