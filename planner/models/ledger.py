"""The cost of model calls in tokens, cached tokens, time and money: per call, episode and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.models.chat import ChatModel, Completion, Request, Usage, WrappedModel
from planner.world.files import FileModel, read_model


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens; tokens from the server's cache may be cheaper. Zero = unknown."""

    prompt: float = 0.0
    cached: float = 0.0
    reply: float = 0.0

    def of(self, usage: Usage) -> float:
        """The cost of a call."""
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        cost = fresh * self.prompt + usage.cached_tokens * self.cached
        return (cost + usage.reply_tokens * self.reply) / 1e6


@dataclass(slots=True)
class Account:
    """Sums over the calls of an episode or a run."""

    calls: int = 0
    failed_calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    @property
    def cached_share(self) -> float:
        """Share of all prompt tokens that came from the server's prefix cache, 0 to 1."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    def book(self, answer: Completion) -> None:
        """Adds an answered call."""
        self.calls += 1
        self.prompt_tokens += answer.usage.prompt_tokens
        self.cached_tokens += answer.usage.cached_tokens
        self.reply_tokens += answer.usage.reply_tokens
        self.cost += answer.cost
        if isfinite(answer.timings.total_s):
            self.seconds += answer.timings.total_s

    def as_evidence(self) -> Mapping[str, str]:
        """The sums as stored in a result."""
        return {
            "model_calls": str(self.calls),
            "model_failures": str(self.failed_calls),
            "prompt_tokens": str(self.prompt_tokens),
            "cached_tokens": str(self.cached_tokens),
            "cached_share": f"{self.cached_share:.3f}",
            "reply_tokens": str(self.reply_tokens),
            "model_seconds": f"{self.seconds:.3f}",
            "model_cost": f"{self.cost:.6f}",
        }


class LedgerModel(WrappedModel):
    """A model whose calls are counted; several episodes share one model and the run's account."""

    def __init__(
        self, model: ChatModel, accounts: Sequence[Account], prices: Prices | None = None
    ) -> None:
        """Adds every call to all `accounts`, such as the episode's and the run's."""
        super().__init__(model)
        self._accounts = tuple(accounts)
        self._prices = prices or Prices()

    async def complete(self, request: Request) -> Completion:
        """The wrapped model's reply with its cost."""
        try:
            answer = await self._model.complete(request)
        except BaseException:
            for account in self._accounts:
                account.failed_calls += 1
            raise
        answer = replace(answer, cost=self._prices.of(answer.usage))
        for account in self._accounts:
            account.book(answer)
        return answer


# What models cost, by a file that the user gives; nothing is priced without one.

Price = Annotated[float, Field(ge=0)]


class ModelPrices(FileModel):
    """Prices of a million tokens.

    Attributes:
        prompt: of the prompt.
        reply: of the reply.
        cached: of what the server had of the prompt; None = as the rest of it.
    """

    prompt: Price
    reply: Price
    cached: Price | None = None


class PriceTable(FileModel):
    """The prices of models by the names that their servers know them by.

    Attributes:
        currency: as it is shown, such as EUR.
        models: exact names; others have no price.
    """

    version: Literal[1]
    currency: Annotated[str, Field(pattern=r"^[^\s<>&]{1,8}$")]
    models: Mapping[Annotated[str, Field(min_length=1, max_length=200)], ModelPrices]

    def cost(self, model: str, prompt: int, cached: int, reply: int) -> float | None:
        """The cost of a call in `currency`; None for a model without a price.

        Args:
            model: its name.
            prompt: tokens of the prompt.
            cached: those of them that the server had.
            reply: tokens of the reply.
        """
        found = self.models.get(model)
        if found is None:
            return None
        of_cached = found.prompt if found.cached is None else found.cached
        usage = Usage(prompt_tokens=prompt, cached_tokens=cached, reply_tokens=reply)
        return Prices(found.prompt, of_cached, found.reply).of(usage)


def read_prices(path: str) -> PriceTable | None:
    """Reads a file of prices; "" = none.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(Path(path), PriceTable) if path else None
