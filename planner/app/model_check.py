"""Conformance check of chat models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import numpy as np

from planner.models.chat import (
    ChatModel,
    Completion,
    Message,
    ModelError,
    Picture,
    Request,
    Speaker,
)
from planner.models.gbnf import read_grammar
from planner.models.model_choice import ModelChoice, open_model
from planner.models.part import ModelPart
from planner.parts.check import Finding, Report, Verdict

GRAMMAR = 'root ::= "yes" | "no"\n'
_QUESTION = Message(Speaker.USER, "Is a cup a thing? Answer yes or no.")
_REQUEST = Request((Message(Speaker.SYSTEM, "Be short."), _QUESTION), max_tokens=16, seed=1)
_SIDE_PX = 384
# Returns "" on success, otherwise what is wrong.
_Check = Callable[[ChatModel], Awaitable[str]]


class _NotPromisedError(Exception):
    """A capability that the model's record does not claim; the text names it."""


@dataclass(frozen=True, slots=True)
class _Checks:
    part: ModelPart
    request: Request

    def all(self) -> dict[str, _Check]:
        """All checks by name, in order."""
        return {
            "has_a_name": self.has_a_name,
            "answers": self.answers,
            "ends_at_stop_strings": self.ends_at_stop_strings,
            "keeps_the_grammar": self.keeps_the_grammar,
            "keeps_max_tokens": self.keeps_max_tokens,
            "sees_pictures": self.sees_pictures,
            "answers_several_at_once": self.answers_several_at_once,
            "is_late_with_a_model_error": self.is_late_with_a_model_error,
            "can_be_cancelled": self.can_be_cancelled,
            "closes_twice": self.closes_twice,
        }

    async def has_a_name(self, model: ChatModel) -> str:
        found: object = model.name
        return "" if isinstance(found, str) and found else f"its name is {found!r}"

    async def answers(self, model: ChatModel) -> str:
        return _problem(await model.complete(self.request))

    async def ends_at_stop_strings(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, stop=("e", "o", "\n")))
        cut = not set(answer.text) & set("eo\n")
        return _problem(answer) or ("" if cut else f"{answer.text!r} goes past a stop string")

    async def keeps_the_grammar(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, grammar=GRAMMAR))
        if read_grammar(GRAMMAR).accepts(answer.text):
            return _problem(answer)
        if not self.part.holds_grammar:
            raise _NotPromisedError(f"it said {answer.text[:80]!r}; its record does not promise it")
        return f"{answer.text[:80]!r} is not of the grammar {GRAMMAR.strip()}"

    async def keeps_max_tokens(self, model: ChatModel) -> str:
        answer = await model.complete(replace(self.request, max_tokens=1))
        count = answer.usage.reply_tokens
        if count > 1 and self.part.per_episode:
            raise _NotPromisedError("its answers are given")
        return _problem(answer) or ("" if count <= 1 else f"{count} tokens, expected at most 1")

    async def sees_pictures(self, model: ChatModel) -> str:
        if not self.part.takes_pictures:
            raise _NotPromisedError("its record says that it takes none")
        picture = Picture.of(np.full((_SIDE_PX, _SIDE_PX, 3), 127, np.uint8))
        prompt = replace(_QUESTION, pictures=(picture,))
        return _problem(await model.complete(replace(self.request, messages=(prompt,))))

    async def answers_several_at_once(self, model: ChatModel) -> str:
        requests = [replace(self.request, seed=seed) for seed in range(3)]
        answers = await asyncio.gather(*(model.complete(request) for request in requests))
        return next((problem for answer in answers if (problem := _problem(answer))), "")

    async def is_late_with_a_model_error(self, model: ChatModel) -> str:
        try:
            await model.complete(replace(self.request, deadline_s=1e-6))
        except ModelError:
            return ""
        return ""

    async def can_be_cancelled(self, model: ChatModel) -> str:
        task = asyncio.ensure_future(model.complete(self.request))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return ""
        return ""

    async def closes_twice(self, model: ChatModel) -> str:
        await model.close()
        await model.close()
        return ""


def check_model(choice: ModelChoice, deadline_s: float = 60.0) -> Report:
    """Runs all checks.

    Args:
        choice: the model, as parameters name it.
        deadline_s: for each answer.

    Raises:
        PlannerError: if the model cannot be made.
    """
    return asyncio.run(_checked(choice, deadline_s))


async def _checked(choice: ModelChoice, deadline_s: float) -> Report:
    part = choice.part
    model = open_model(choice)
    findings = []
    for name, check in _Checks(part, replace(_REQUEST, deadline_s=deadline_s)).all().items():
        if part.per_episode:
            # A scripted model runs out of answers, so each check gets a new one.
            model = open_model(choice)
        findings.append(await _found(name, check, model, part))
    return Report(tuple(findings))


async def _found(name: str, check: _Check, model: ChatModel, part: ModelPart) -> Finding:
    try:
        problem = await check(model)
    except _NotPromisedError as skipped:
        return Finding(name, Verdict.SKIPPED, str(skipped))
    except ModelError as error:
        skipped_here = part.per_episode or part.reads_goal
        text = f"its answers are given: {error}" if skipped_here else f"no answer: {error}"
        return Finding(name, Verdict.SKIPPED if skipped_here else Verdict.FAILED, text)
    except Exception as error:
        # Any other exception is a finding, not the end of the check.
        problem = f"raised {error!r}, expected a ModelError"
    return Finding(name, Verdict.FAILED if problem else Verdict.PASSED, problem)


def _problem(answer: object) -> str:
    if not isinstance(answer, Completion):
        return f"complete: expected a Completion, got {type(answer).__name__}"
    text: object = answer.text
    if not isinstance(text, str):
        return f"text: expected str, got {type(text).__name__}"
    if answer.finish not in ("stop", "length"):
        return f"finish: expected stop or length, got {answer.finish!r}"
    usage = answer.usage
    low = min(usage.prompt_tokens, usage.cached_tokens, usage.reply_tokens)
    return "" if low >= 0 else f"usage: {usage} has a number below 0"
