"""A model in this process: only valid calls under a grammar, batches, stops, deadlines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from planning_toys import ToyWorld, play
from tiny_models import HAS_TORCH, make_tiny

from planner.models.caller import ModelCall
from planner.models.chat import (
    Completion,
    ContextFullError,
    Message,
    ModelError,
    Request,
    Speaker,
)
from planner.models.in_process import NEEDS_EXTRA, InProcessModel
from planner.models.replies.turn import Ability, TurnForm, Words, turn_grammar
from planner.planning.dialogues import make_react
from planner.planning.planner import Task
from planner.planning.planner_model import DialogueOptions
from planner.world.skill import SkillName
from planner.world.vocabulary import AgentKind

Make = Callable[..., ToyWorld]
ASK = (Message(Speaker.USER, "What is the next action?"),)
WORDS = Words(
    tuple(f"cup_{i}" for i in range(40)), tuple(f"table_{i}" for i in range(9)), ("kitchen_0",)
)
GRAMMAR = turn_grammar(WORDS, {"agent_0": Ability(tuple(SkillName)[:8])}, TurnForm.CALL)
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="the extra `local` (torch) is not installed")


@pytest.mark.skipif(HAS_TORCH, reason="the extra `local` is installed")
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        InProcessModel(tmp_path)
    assert str(caught.value).startswith(NEEDS_EXTRA)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[InProcessModel]:
    made = InProcessModel(folder, temperature=1.0)
    yield made
    asyncio.run(made.close())


def ask(model: InProcessModel, **more: Any) -> Completion:
    return asyncio.run(model.complete(Request(ASK, **more)))


@needs_torch
def test_random_weights_give_only_valid_calls_under_the_grammar(model: InProcessModel) -> None:
    async def many() -> list[Completion]:
        return await asyncio.gather(
            *(
                model.complete(Request(ASK, grammar=GRAMMAR.text, seed=seed, deadline_s=280.0))
                for seed in range(24)
            )
        )

    answers = asyncio.run(many())
    assert all(answer.finish == "stop" for answer in answers)
    assert all(GRAMMAR.read.accepts(answer.text) for answer in answers)
    assert len({answer.text for answer in answers}) > 10
    assert max(model.batches) > 1
    free = ask(model, seed=1)
    assert not GRAMMAR.read.accepts(free.text)


@needs_torch
def test_a_row_says_the_same_alone_and_in_a_batch(model: InProcessModel) -> None:
    async def both() -> list[Completion]:
        other = (Message(Speaker.USER, "A much longer question than that one, of no interest."),)
        return await asyncio.gather(
            model.complete(Request(ASK, grammar=GRAMMAR.text, seed=3)),
            model.complete(Request(other, grammar=GRAMMAR.text, seed=4)),
        )

    assert asyncio.run(both())[0].text == ask(model, grammar=GRAMMAR.text, seed=3).text


@needs_torch
def test_the_stop_string_ends_the_answer_and_is_not_in_it(model: InProcessModel) -> None:
    answer = ask(model, grammar=GRAMMAR.text, stop=("Assigned!",), seed=5)
    assert answer.finish == "stop"
    assert "Assigned!" not in answer.text
    assert GRAMMAR.read.accepts(f"{answer.text}Assigned!")


@needs_torch
def test_an_endless_answer_ends_at_its_budget_and_says_so(model: InProcessModel) -> None:
    answer = ask(model, grammar='root ::= "a"*', max_tokens=7, seed=1)
    assert answer.finish in ("length", "stop")
    assert answer.usage.reply_tokens <= 7


@needs_torch
def test_the_deadline_ends_what_takes_too_long(model: InProcessModel) -> None:
    with pytest.raises(ModelError, match="no complete answer within"):
        ask(model, grammar='root ::= "x"{3000,3000}', max_tokens=3000, deadline_s=0.05)


@needs_torch
def test_a_cancelled_request_leaves_its_batch(model: InProcessModel) -> None:
    async def cancel() -> float:
        long = model.complete(Request(ASK, grammar='root ::= "x"{3000,3000}', max_tokens=3500))
        task = asyncio.ensure_future(long)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        began_s = time.monotonic()
        await model.complete(Request(ASK, grammar=GRAMMAR.text))
        return time.monotonic() - began_s

    # The thread is free again long before three thousand tokens are said.
    assert asyncio.run(cancel()) < 20


@needs_torch
def test_a_full_context_is_reported(tmp_path: Path) -> None:
    model = InProcessModel(make_tiny(tmp_path, context=64))
    with pytest.raises(ContextFullError, match="do not fit into 64"):
        ask(model, max_tokens=60)


@needs_torch
def test_a_model_without_a_chat_template_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no chat template"):
        InProcessModel(make_tiny(tmp_path, template=None))


@needs_torch
def test_a_folder_without_a_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model folder"):
        InProcessModel(tmp_path)


@needs_torch
def test_a_bad_grammar_is_reported(model: InProcessModel) -> None:
    with pytest.raises(ModelError, match="bad grammar"):
        ask(model, grammar="root ::= nothing")


@needs_torch
def test_a_whole_episode_of_random_weights_makes_no_wrong_call(
    toy_world: Make, model: InProcessModel
) -> None:
    heard: list[ModelCall] = []
    world = toy_world(agents={"agent_0": AgentKind.ROBOT})
    planner = make_react(
        Task("Tidy.", ("agent_0",)),
        model,
        DialogueOptions(max_cycles=2, deadline_s=280.0),
        heard.append,
    )

    play(planner, world, Task("Tidy.", ("agent_0",)))
    assert heard
    assert all(call.parameters["exact"] == "true" and not call.error for call in heard)
