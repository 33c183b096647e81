"""What models cost, by a file that the user gives; nothing is priced without one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.models.chat import Usage
from planner.models.ledger import Prices
from planner.world.files import FileModel, read_model

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
