"""A model whose answers stand in a list, for tests and demonstrations without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.models.chat import Completion, Message, ModelError, Timings, Usage

Reply = Callable[[Sequence[Message]], str]


class ScriptedModel:
    """Answers from a list one after the other, or whatever a function makes of the dialogue."""

    def __init__(self, replies: Sequence[str] | Reply) -> None:
        self._replies = replies
        self.asked: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        """The model's name, for traces."""
        return "scripted"

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
        """The next answer, cut at the first stop string as a server would.

        Raises:
            ModelError: where the list has ended.
        """
        del grammar, max_tokens, seed, deadline_s
        self.asked.append(tuple(messages))
        text = self._next(messages)
        for word in stop:
            text = text.partition(word)[0]
        words = sum(len(message.text.split()) for message in messages)
        usage = Usage(prompt_tokens=words, reply_tokens=len(text.split()))
        return Completion(text, usage, Timings(0.0, 0.0))

    def _next(self, messages: Sequence[Message]) -> str:
        if callable(self._replies):
            return self._replies(messages)
        count = len(self.asked)
        if count > len(self._replies):
            raise ModelError(f"the script has {len(self._replies)} replies, not {count}")
        return self._replies[count - 1]

    async def close(self) -> None:
        """Nothing is open."""
