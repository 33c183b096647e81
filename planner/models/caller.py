"""Calls a model on behalf of one role: every call of every part goes through here and is traced."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Thread
from typing import Any, Generic, TypeVar

from planner.models.chat import (
    DEADLINE_S,
    ChatModel,
    Completion,
    Message,
    ModelError,
    Reference,
    Request,
    Role,
    Timings,
    Usage,
    transcript,
)
from planner.models.replies.form import ReplyForm
from planner.world.errors import PlannerError
from planner.world.skill import CallError

# Records of model calls: everything needed to read, count and train on them.


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call, or one decision of a planner without a model (`model` is empty then).

    Attributes:
        planner: name of the caller: the planner, or another part with its role.
        cycle: planning cycle of this planner, from 1.
        messages: the full dialogue sent.
        grammar: GBNF that constrained the reply; "" = none.
        reply: the full text received.
        finish: how the reply ended, as in `Completion`.
        calls: parsed skill calls, one for each of `agents`; "" for none.
        error: why the reply was rejected or is missing; "" = accepted.
        answered: whether there is a reply.
        role: what the call is for.
    """

    planner: str
    model: str
    agents: tuple[str, ...]
    cycle: int
    messages: tuple[Message, ...] = ()
    grammar: str = ""
    reply: str = ""
    finish: str = "stop"
    calls: tuple[str, ...] = ()
    error: str = ""
    answered: bool = True
    usage: Usage = field(default_factory=Usage)
    timings: Timings = field(default_factory=Timings)
    parameters: Mapping[str, str] = field(default_factory=dict)
    role: Role = Role.PLANNER

    @property
    def prompt(self) -> str:
        """The dialogue as one text."""
        return transcript(self.messages)


OnCall = Callable[[ModelCall], None]


def ignore_call(_call: ModelCall) -> None:
    """Ignores the call."""


ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Reply(Generic[ValueT]):
    """A model's reply and its parsed value; `value` is None if it was rejected with `error`."""

    completion: Completion
    value: ValueT | None = None
    error: PlannerError | CallError | None = None

    def accepted(self) -> ValueT:
        """The parsed value.

        Raises:
            PlannerError: if the reply was rejected.
            CallError: if it contains no call that is possible now.
        """
        if self.value is None:
            raise self.error or PlannerError("the reply says nothing")
        return self.value


@dataclass(frozen=True, slots=True)
class Remark:
    """What the trace records about an accepted reply.

    Attributes:
        calls: skill calls, one for each agent asked about.
        error: what was wrong with it although it was accepted.
        parameters: anything else.
    """

    calls: tuple[str, ...] = ()
    error: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends one part's requests to a model.

    Retries, waiting (`RetryingModel`) and accounting (`LedgerModel`) belong to the model, so that
    all its callers share them.

    Attributes:
        name: of the planner or other part, for traces.
        model: the model to call.
        role: what the calls are for.
        seed: for sampling.
        deadline_s: timeout for one reply including retries, wall seconds.
        constrained: whether the grammar is sent to the model. Replies are parsed in any case.
        accepts_partial: see `Request`.
        parameters: recorded with every call.
        on_call: called for each call, including rejected and failed ones.
    """

    name: str
    model: ChatModel
    role: Role
    seed: int | None = None
    deadline_s: float = DEADLINE_S
    constrained: bool = True
    accepts_partial: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    on_call: OnCall = ignore_call

    async def ask(
        self,
        messages: tuple[Message, ...],
        form: ReplyForm[ValueT],
        *,
        agents: tuple[str, ...] = (),
        cycle: int = 1,
        max_tokens: int = 0,
        parameters: Mapping[str, str] | None = None,
        remark: Callable[[ValueT], Remark] | None = None,
        reference: Reference | None = None,
    ) -> Reply[ValueT]:
        """Sends one request; parses and traces the reply.

        Args:
            messages: the whole prompt.
            form: the expected form of the reply.
            agents: whose actions it decides.
            cycle: planning cycle of this dialogue, from 1.
            max_tokens: of the reply; 0 = the form's.
            parameters: recorded with this call.
            remark: what the trace records about the value.
            reference: the right reply, for privileged models.

        Raises:
            ModelError: if there is no reply.
        """
        request = Request(
            messages,
            grammar=form.grammar if self.constrained else "",
            stop=form.stop,
            max_tokens=max_tokens or form.max_tokens,
            seed=self.seed,
            deadline_s=self.deadline_s,
            accepts_partial=self.accepts_partial,
            role=self.role,
            reference=reference,
        )
        call = ModelCall(
            planner=self.name,
            model=self.model.name,
            agents=agents,
            cycle=cycle,
            messages=messages,
            grammar=request.grammar,
            calls=("",) * len(agents),
            parameters=self._parameters(form.grammar),
            role=self.role,
        )
        try:
            answer = await self.model.complete(request)
        except ModelError as error:
            self.on_call(replace(call, answered=False, error=str(error)))
            raise
        reply, note = self._read(answer, form, remark)
        more = {**call.parameters, **(parameters or {}), **answer.notes, **note.parameters}
        if answer.cost:
            more["cost"] = f"{answer.cost:.6f}"
        self.on_call(
            replace(
                call,
                reply=answer.text,
                finish=answer.finish,
                calls=note.calls or call.calls,
                error=note.error,
                usage=answer.usage,
                timings=answer.timings,
                parameters=more,
            )
        )
        return reply

    def _parameters(self, grammar: str) -> dict[str, str]:
        found = {} if self.seed is None else {"seed": str(self.seed)}
        if grammar:
            found["grammar_hash"] = hashlib.sha256(grammar.encode()).hexdigest()[:12]
        return {**found, "constrained": str(self.constrained).lower(), **self.parameters}

    @staticmethod
    def _read(
        answer: Completion, form: ReplyForm[ValueT], remark: Callable[[ValueT], Remark] | None
    ) -> tuple[Reply[ValueT], Remark]:
        try:
            value = form.read(answer.text, ended=answer.finish == "stop")
        except (PlannerError, CallError) as error:
            return Reply(answer, error=error), Remark(error=str(error))
        return Reply(answer, value), remark(value) if remark is not None else Remark()


# Calls a model from synchronous code, such as a memory updater.

ResultT = TypeVar("ResultT")


class BlockingLoop:
    """An event loop in its own thread, started at first use.

    It works whether or not the caller's thread runs a loop of its own.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Runs a coroutine, waits for its result, and passes on its exceptions."""
        return self.start(work).result()

    def start(self, work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
        """Starts a coroutine and returns at once."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            Thread(target=self._loop.run_forever, name="models", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Ends the thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
