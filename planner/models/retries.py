"""Waiting for a model whose server is stopped or starting, and saying so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from planner.models.chat import ChatModel, Completion, Message, ModelAwayError

WAITING = "waiting for model"
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 5.0

# Hears `waiting for model: ...` before each wait, and "" when the model is back.
Say = Callable[[str], None]


def _nobody(_line: str) -> None:
    """Hears nothing."""


class PatientModel:
    """Asks the same again until the model is back, so that nothing of an episode is lost."""

    def __init__(
        self,
        model: ChatModel,
        patience_s: float,
        say: Say = _nobody,
        *,
        first_wait_s: float = _FIRST_WAIT_S,
    ) -> None:
        """Waits at most `patience_s` wall seconds on end, 0 = not at all."""
        self._model, self._patience_s = model, patience_s
        self._first_wait_s = first_wait_s
        self.say = say

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        grammar: str = "",
        stop: Sequence[str] = (),
        max_tokens: int = 256,
        seed: int | None = None,
        deadline_s: float = 60.0,
    ) -> Completion:
        """The other model's answer; `deadline_s` is for each attempt, not for the waiting.

        Raises:
            ModelAwayError: where the model did not come back in time.
            ModelError: for all else.
        """
        # From the first failure on: a client that takes long to start shortens no patience.
        gone_since_s: float | None = None
        wait_s = self._first_wait_s
        while True:
            try:
                answer = await self._model.complete(
                    messages,
                    grammar=grammar,
                    stop=stop,
                    max_tokens=max_tokens,
                    seed=seed,
                    deadline_s=deadline_s,
                )
            except ModelAwayError as error:
                now_s = time.monotonic()
                gone_since_s = now_s if gone_since_s is None else gone_since_s
                gone_s = now_s - gone_since_s
                left_s = self._patience_s - gone_s
                if left_s <= 0:
                    raise ModelAwayError(f"{error}; waited {gone_s:.0f} s for the model") from None
                self.say(f"{WAITING}: {error}")
                await asyncio.sleep(min(wait_s, left_s))
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            else:
                if gone_since_s is not None:
                    self.say("")
                return answer

    async def close(self) -> None:
        """Closes the model behind it."""
        await self._model.close()
