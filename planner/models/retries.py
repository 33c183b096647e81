"""Retries: the one place for deadlines, busy servers and unavailable models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from planner.models.chat import (
    ChatModel,
    Completion,
    ModelBusyError,
    ModelError,
    ModelUnavailableError,
    Request,
    WrappedModel,
)

WAITING = "waiting for model"
_FIRST_WAIT_S, _MAX_WAIT_S = 0.5, 5.0
# A model that returns a partial reply at the deadline first finishes the current token.
_PARTIAL_GRACE_S = 10.0

# Called with `waiting for model: ...` before each wait, and with "" when the model is back.
OnWait = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failed request is sent again, and the pauses in between in seconds, doubling."""

    max_count: int = 3
    first_wait_s: float = 0.5
    max_wait_s: float = 8.0


def _ignore(_line: str) -> None:
    pass


class RetryingModel(WrappedModel):
    """Repeats a request as long as that may help, so that no episode is lost to a passing failure.

    Failures that may pass are retried within the request's deadline. An unavailable model is waited
    for in addition, with a deadline for each attempt.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        wait_s: float = 0.0,
        retries: Retries | None = None,
        on_wait: OnWait = _ignore,
        first_wait_s: float = _FIRST_WAIT_S,
    ) -> None:
        """Waits at most `wait_s` wall seconds for an unavailable model; 0 = not at all."""
        super().__init__(model)
        self._wait_s, self._first_wait_s = wait_s, first_wait_s
        self._retries = retries or Retries()
        self.on_wait = on_wait

    async def complete(self, request: Request) -> Completion:
        """The wrapped model's reply.

        Raises:
            ModelUnavailableError: if the model did not become available in time.
            ModelError: for all else, including a late reply.
        """
        # Measured from the first failure: the client's own start-up must not count.
        away_since_s: float | None = None
        wait_s = self._first_wait_s
        while True:
            try:
                answer = await self._in_time(request)
            except ModelUnavailableError as error:
                now_s = time.monotonic()
                away_since_s = now_s if away_since_s is None else away_since_s
                away_s = now_s - away_since_s
                left_s = self._wait_s - away_s
                if self._wait_s <= 0:
                    raise
                if left_s <= 0:
                    raise ModelUnavailableError(
                        f"{error}; waited {away_s:.0f} s for the model"
                    ) from None
                self.on_wait(f"{WAITING}: {error}")
                await asyncio.sleep(min(wait_s, left_s))
                wait_s = min(2 * wait_s, _MAX_WAIT_S)
            else:
                if away_since_s is not None:
                    self.on_wait("")
                return answer

    async def _in_time(self, request: Request) -> Completion:
        grace_s = _PARTIAL_GRACE_S if request.accepts_partial else 0.0
        try:
            async with asyncio.timeout(request.deadline_s + grace_s):
                return await self._try(request)
        except TimeoutError:
            raise ModelError(
                f"{self.name}: no complete answer within {request.deadline_s:.1f} s"
            ) from None

    async def _try(self, request: Request) -> Completion:
        wait_s = self._retries.first_wait_s
        for attempt in range(self._retries.max_count + 1):
            try:
                return await self._model.complete(request)
            except ModelBusyError as error:
                if attempt == self._retries.max_count:
                    if not attempt:
                        raise
                    raise type(error)(f"after {attempt + 1} tries: {error}") from None
                await asyncio.sleep(min(max(wait_s, error.wait_s), self._retries.max_wait_s))
                wait_s *= 2
        raise AssertionError("the last try returns or raises")
