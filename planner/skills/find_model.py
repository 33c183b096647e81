"""Find tools answered by a language model, as in PARTNR: which known names a description means."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

from planner.models.caller import BlockingLoop, Caller, OnCall, ignore_call
from planner.models.chat import ChatModel, Message, Role, Speaker
from planner.models.replies.form import ListReply
from planner.world.errors import PlannerError
from planner.world.vocabulary import EntityKind

DEADLINE_S = 30.0
MAX_ANSWERS = 60
_MAX_TOKENS = 1024
_NOUNS = {
    EntityKind.OBJECT: "objects",
    EntityKind.FURNITURE: "receptacles and other furniture",
    EntityKind.ROOM: "rooms",
}
_PROMPT = """These {kind} are known in a house:
{known}

Which of them fit the description "{text}"? Answer with one line "- NAME" for each that fits, the \
best first, and with "none" if none of them fits."""


@dataclass(slots=True)
class FindModel:
    """Asks a chat model; its reply can only contain names from the list.

    Attributes:
        model: with its retries.
        blocks: whether `choose` waits for the reply, so that no step of a simulator passes.
        deadline_s: of one reply including retries, wall seconds.
        on_call: called with each call of the model, in another thread.
    """

    model: ChatModel
    blocks: bool = False
    deadline_s: float = DEADLINE_S
    on_call: OnCall = ignore_call
    _loop: BlockingLoop = field(default_factory=BlockingLoop)

    def choose(
        self, kind: EntityKind, text: str, known: Mapping[str, str]
    ) -> Future[tuple[str, ...]]:
        """The names in `known` that a description means; values describe each name.

        The future raises `PlannerError` if there is no usable reply.
        """
        future = self._loop.start(self._ask(kind, text, known))
        if self.blocks:
            wait([future])
        return future

    async def _ask(self, kind: EntityKind, text: str, known: Mapping[str, str]) -> tuple[str, ...]:
        lines = "\n".join(known.values())
        prompt = _PROMPT.format(kind=_NOUNS[kind], known=lines, text=text)
        max_items = min(len(known), MAX_ANSWERS)
        form = ListReply(tuple(known), min_items=0, max_items=max_items, max_tokens=_MAX_TOKENS)
        caller = Caller(
            "find_tools", self.model, Role.MEMORY, deadline_s=self.deadline_s, on_call=self.on_call
        )
        reply = await caller.ask((Message(Speaker.USER, prompt),), form)
        if not reply.completion.text.strip():
            raise PlannerError("the reply is empty")
        return tuple(dict.fromkeys(reply.accepted()))

    def close(self) -> None:
        """Closes the model's connections."""
        self._loop.run(self.model.close())
        self._loop.close()
