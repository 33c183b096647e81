"""One role's way to a model: every call of every part goes through here and is traced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from planner.models.chat import ChatModel, Completion, Message, ModelError, Request
from planner.models.replies.form import ReplyForm
from planner.models.role import Role
from planner.models.trace import ModelCall, OnCall, ignore_call
from planner.world.errors import PlannerError
from planner.world.skill import CallError

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Reply(Generic[ValueT]):
    """A model's answer and what it says; `value` is None where it was refused with `error`."""

    completion: Completion
    value: ValueT | None = None
    error: PlannerError | CallError | None = None

    def accepted(self) -> ValueT:
        """What it says.

        Raises:
            PlannerError: where it was refused; CallError where it names no possible call.
        """
        if self.value is None:
            raise self.error or PlannerError("the reply says nothing")
        return self.value


@dataclass(frozen=True, slots=True)
class Remark:
    """What the trace is to keep of an accepted reply.

    Attributes:
        calls: skill calls, one for each agent asked about.
        error: what was wrong with it although it was accepted.
        parameters: what else.
    """

    calls: tuple[str, ...] = ()
    error: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Caller:
    """A part that asks a model.

    Retries and waiting are the model's (`RetryingModel`), the ledger too (`LedgerModel`), so that
    all callers of a model share them.

    Attributes:
        name: of the planner or other part, for traces.
        model: asked.
        role: what its calls are for.
        seed: of the sampling.
        deadline_s: wall seconds for one answer, tries included.
        constrained: whether the model is given the grammar. Replies are parsed in any case.
        accepts_partial: see `Request`.
        parameters: kept with every call.
        on_call: hears each call, refused and failed ones too.
    """

    name: str
    model: ChatModel
    role: Role
    seed: int | None = None
    deadline_s: float = 60.0
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
    ) -> Reply[ValueT]:
        """One reply of the model, parsed and traced.

        Args:
            messages: the whole prompt.
            form: of the reply.
            agents: whose action it decides.
            cycle: of this dialogue, from 1.
            max_tokens: of the reply; 0 = the form's.
            parameters: what the trace keeps of this call.
            remark: what the trace keeps of the value.

        Raises:
            ModelError: where there is no reply.
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
        more = {**call.parameters, **(parameters or {}), **note.parameters}
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
        answer: Completion,
        form: ReplyForm[ValueT],
        remark: Callable[[ValueT], Remark] | None,
    ) -> tuple[Reply[ValueT], Remark]:
        try:
            value = form.read(answer.text, ended=answer.finish == "stop")
        except (PlannerError, CallError) as error:
            return Reply(answer, error=error), Remark(error=str(error))
        return Reply(answer, value), remark(value) if remark is not None else Remark()
