"""What models cost, and waiting for one that is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.models.chat import (
    Completion,
    Message,
    ModelError,
    ModelUnavailableError,
    Request,
    Speaker,
    Timings,
    Usage,
)
from planner.models.ledger import Account, LedgerModel, Prices, read_prices
from planner.models.model_choice import WAITING, Retries, RetryingModel
from planner.world.errors import FileError

HELLO = (Message(Speaker.USER, "hello"),)


class Model:
    """Answers, or raises, what stands in a list."""

    name = "listed"

    def __init__(self, *outcomes: Completion | Exception) -> None:
        self.outcomes, self.asked, self.closed = list(outcomes), 0, False

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        self.closed = True


ANSWER = Completion("a", Usage(1000, 600, 50), Timings(0.1, 2.0))
PRICES = Prices(prompt=2.0, cached=0.5, reply=10.0)


def test_a_call_an_episode_and_a_run_are_booked() -> None:
    run, first, second = Account(), Account(), Account()
    model = Model(ANSWER, ANSWER, ModelError("no"))
    for account in (first, second):
        ledger = LedgerModel(model, (account, run), PRICES)
        answer = asyncio.run(ledger.complete(Request(HELLO)))
        assert answer.cost == pytest.approx((400 * 2.0 + 600 * 0.5 + 50 * 10.0) / 1e6)
        assert account.calls == 1
    with pytest.raises(ModelError):
        asyncio.run(ledger.complete(Request(HELLO)))
    assert (run.calls, run.failed_calls, second.failed_calls, first.failed_calls) == (2, 1, 1, 0)
    assert run.cached_share == pytest.approx(0.6)
    assert run.seconds == pytest.approx(4.0)
    assert run.as_evidence()["model_cost"] == "0.003200"
    assert run.as_evidence()["cached_share"] == "0.600"


def test_what_a_server_does_not_say_counts_nothing() -> None:
    account = Account()
    asyncio.run(LedgerModel(Model(Completion("a")), (account,)).complete(Request(HELLO)))
    assert account.as_evidence()["model_seconds"] == "0.000"
    assert account.cached_share == 0.0


def patient(model: Model, wait_s: float = 5.0) -> tuple[RetryingModel, list[str]]:
    said: list[str] = []
    made = RetryingModel(
        model,
        wait_s=wait_s,
        retries=Retries(max_count=0),
        on_wait=said.append,
        first_wait_s=0.001,
    )
    return made, said


def test_a_model_that_comes_back_is_waited_for_and_asked_the_same() -> None:
    model = Model(ModelUnavailableError("refused"), ModelUnavailableError("starting"), ANSWER)
    made, said = patient(model)
    assert asyncio.run(made.complete(Request(HELLO))) is ANSWER
    assert said == [f"{WAITING}: refused", f"{WAITING}: starting", ""]
    assert model.asked == 3


@pytest.mark.slow
def test_patience_ends() -> None:
    made, said = patient(Model(*[ModelUnavailableError("refused")] * 10_000), 0.5)
    with pytest.raises(ModelUnavailableError, match=r"refused; waited \d+ s for the model"):
        asyncio.run(made.complete(Request(HELLO)))
    assert said


def test_other_failures_are_not_waited_for() -> None:
    made, said = patient(Model(ModelError("a refusal")))
    with pytest.raises(ModelError, match="a refusal"):
        asyncio.run(made.complete(Request(HELLO)))
    assert not said


def test_waiting_can_be_cancelled() -> None:
    async def cancel() -> None:
        made = RetryingModel(
            Model(*[ModelUnavailableError("refused")] * 10),
            wait_s=600.0,
            retries=Retries(max_count=0),
            first_wait_s=60.0,
        )
        task = asyncio.ensure_future(made.complete(Request(HELLO)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


@pytest.mark.parametrize(
    "wrap",
    [lambda m: LedgerModel(m, ()), lambda m: RetryingModel(m, wait_s=1.0)],
)
def test_closing_and_the_name_go_through(wrap: Callable[[Any], Any]) -> None:
    model = Model()
    made = wrap(model)
    assert made.name == "listed"
    asyncio.run(made.close())
    assert model.closed


def write(path: Path, models: str, currency: str = "EUR") -> str:
    path.write_text(f"version: 1\ncurrency: {currency}\nmodels: {models}\n")
    return str(path)


def test_cached_tokens_have_a_price_of_their_own_or_that_of_the_prompt(tmp_path: Path) -> None:
    models = "{small: {prompt: 2.0, cached: 0.5, reply: 8.0}, 'org/big': {prompt: 2.0, reply: 8}}"
    prices = read_prices(write(tmp_path / "prices.yaml", models))
    assert prices is not None
    assert prices.currency == "EUR"
    assert prices.cost("small", 1_000_000, 400_000, 100_000) == pytest.approx(1.2 + 0.2 + 0.8)
    assert prices.cost("org/big", 1_000_000, 400_000, 100_000) == pytest.approx(2.0 + 0.8)
    assert prices.cost("other", 1, 0, 1) is None
    assert read_prices("") is None


@pytest.mark.parametrize(
    ("models", "currency", "field"),
    [
        ("{small: {prompt: -1, reply: 1}}", "EUR", "models.small.prompt"),
        ("{small: {prompt: 1}}", "EUR", "models.small.reply"),
        ("{small: {prompt: 1, reply: .nan}}", "EUR", "models.small.reply"),
        ("{}", "'<b>'", "currency"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(
    tmp_path: Path, models: str, currency: str, field: str
) -> None:
    path = write(tmp_path / "prices.yaml", models, currency)
    with pytest.raises(FileError) as error:
        read_prices(path)
    assert path in str(error.value)
    assert field in str(error.value)
    with pytest.raises(FileError):
        read_prices(str(tmp_path / "none.yaml"))
