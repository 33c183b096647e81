"""A model with predefined replies, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.models.chat import (
    Completion,
    Message,
    ModelError,
    Request,
    Timings,
    Usage,
    cut_at,
)

Reply = Callable[[Sequence[Message]], str]


class ScriptedModel:
    """Replies from a list in order, or computed by a function of the dialogue."""

    name = "scripted"

    def __init__(self, replies: Sequence[str] | Reply) -> None:
        self._replies = replies
        self.requests: list[Request] = []

    @property
    def asked(self) -> list[tuple[Message, ...]]:
        """All dialogues so far."""
        return [request.messages for request in self.requests]

    async def complete(self, request: Request) -> Completion:
        """The next reply, cut at the first stop string as a server would.

        Raises:
            ModelError: after the last one.
        """
        self.requests.append(request)
        text = cut_at(self._next(request.messages), request.stop)
        words = sum(len(message.text.split()) for message in request.messages)
        usage = Usage(prompt_tokens=words, reply_tokens=len(text.split()))
        return Completion(text, usage, Timings(0.0, 0.0))

    def _next(self, messages: Sequence[Message]) -> str:
        if callable(self._replies):
            return self._replies(messages)
        count = len(self.requests)
        if count > len(self._replies):
            raise ModelError(f"the script has {len(self._replies)} replies, not {count}")
        return self._replies[count - 1]

    async def close(self) -> None:
        """Does nothing."""
