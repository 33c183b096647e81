"""The interface of reply forms: the grammar that constrains the model, and the parser of its text.

A model's text is data, and is parsed whether or not the grammar constrained it.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from planner.world.errors import PlannerError

ValueT_co = TypeVar("ValueT_co", covariant=True)
# Longer replies are rejected without a search: no requested form is that long.
MAX_CHARACTERS = 20_000


class ReplyError(PlannerError):
    """A reply that does not have the requested form; the text can be shown to the model."""


class ReplyForm(Protocol[ValueT_co]):
    """One form of reply: turns, JSON, lists or programs."""

    @property
    def grammar(self) -> str:
        """GBNF, in the subset that `planner.models.gbnf` reads."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the reply ends."""

    @property
    def max_tokens(self) -> int:
        """Enough for the longest reply that the grammar allows."""

    def read(self, text: str, *, ended: bool) -> ValueT_co:
        """Parses a reply.

        Args:
            text: as the model gave it.
            ended: whether it ended by itself or at a stop string, rather than for lack of tokens or
                time.

        Raises:
            ReplyError: saying why it does not have the form.
            CallError: likewise, for a skill call.
        """


def check_length(text: str) -> None:
    """Rejects a text that is too long to be searched.

    Raises:
        ReplyError: if it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise ReplyError(f"the reply has {len(text)} characters, at most {MAX_CHARACTERS}")
