"""The one way to ask a model: what is sent, what is parsed, what is traced."""

from __future__ import annotations

import asyncio

import pytest

from planner.models.caller import Caller, ModelCall, Remark
from planner.models.chat import Message, ModelError, ModelUnavailableError, Request, Role, Speaker
from planner.models.model_choice import Retries, RetryingModel
from planner.models.replies.form import ListReply
from planner.models.teacher import ScriptedModel
from planner.world.errors import PlannerError

ASK = (Message(Speaker.USER, "Which first?"),)
FORM = ListReply(("cup_0", "table_0"))


def caller(model: ScriptedModel, heard: list[ModelCall]) -> Caller:
    return Caller(
        "sorter",
        model,
        Role.CORRECTOR,
        seed=7,
        deadline_s=3.0,
        parameters={"cell": "a"},
        on_call=heard.append,
    )


def test_a_reply_is_parsed_and_traced_with_its_role() -> None:
    heard: list[ModelCall] = []
    model = ScriptedModel(["- cup_0"])
    asking = caller(model, heard).ask(
        ASK, FORM, cycle=4, remark=lambda items: Remark(parameters={"items": str(len(items))})
    )
    assert asyncio.run(asking).accepted() == ("cup_0",)
    (request,) = model.requests
    assert request == Request(
        ASK,
        grammar=FORM.grammar,
        max_tokens=FORM.max_tokens,
        seed=7,
        deadline_s=3.0,
        role=Role.CORRECTOR,
    )
    (call,) = heard
    assert (call.planner, call.role, call.cycle, call.reply) == (
        "sorter",
        Role.CORRECTOR,
        4,
        "- cup_0",
    )
    assert call.parameters["seed"] == "7"
    assert (call.parameters["cell"], call.parameters["items"]) == ("a", "1")
    assert len(call.parameters["grammar_hash"]) == 12


def test_a_refused_reply_is_traced_with_the_reason() -> None:
    heard: list[ModelCall] = []
    reply = asyncio.run(caller(ScriptedModel(["- sofa"]), heard).ask(ASK, FORM))
    assert reply.value is None
    assert heard[0].error == str(reply.error)
    with pytest.raises(PlannerError, match="'sofa' is not one of"):
        reply.accepted()


def test_a_call_without_an_answer_is_traced_too() -> None:
    heard: list[ModelCall] = []
    with pytest.raises(ModelError, match="0 replies"):
        asyncio.run(caller(ScriptedModel([]), heard).ask(ASK, FORM))
    assert [(call.answered, call.reply) for call in heard] == [(False, "")]
    assert "0 replies" in heard[0].error


def test_any_model_is_asked_again_within_the_deadline() -> None:
    class Busy(ScriptedModel):
        async def complete(self, request: Request) -> object:  # type: ignore[override]
            if len(self.requests) < 2:
                self.requests.append(request)
                raise ModelUnavailableError("starting")
            return await super().complete(request)

    model = Busy(lambda _messages: "- cup_0")
    made = RetryingModel(model, retries=Retries(first_wait_s=0.001))
    reply = asyncio.run(Caller("sorter", made, Role.VERIFIER).ask(ASK, FORM))
    assert reply.value == ("cup_0",)
    assert len(model.requests) == 3


def test_a_late_answer_is_a_model_error() -> None:
    class Slow(ScriptedModel):
        async def complete(self, request: Request) -> object:  # type: ignore[override]
            await asyncio.sleep(60.0)
            return await super().complete(request)

    made = RetryingModel(Slow(["- cup_0"]))
    asking = Caller("sorter", made, Role.VERIFIER, deadline_s=0.01).ask(ASK, FORM)
    with pytest.raises(ModelError, match=r"no complete answer within 0\.0 s"):
        asyncio.run(asking)
