"""What a form of reply is: the grammar that the model is held to, and the parser of its text.

A model's text is data. It is parsed whether or not the model was held to the grammar.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from planner.world.errors import PlannerError

ValueT_co = TypeVar("ValueT_co", covariant=True)
# Longer replies are not searched: nothing that was asked for stands behind so much text.
MAX_CHARACTERS = 20_000


class ReplyError(PlannerError):
    """A reply that is not of the form; the text can be shown to the model."""


class ReplyForm(Protocol[ValueT_co]):
    """One form of reply: turns, JSON, lists or programs."""

    @property
    def grammar(self) -> str:
        """GBNF, in the part of it that `planner.models.gbnf` reads."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the reply ends."""

    @property
    def max_tokens(self) -> int:
        """Enough for the longest reply that the grammar allows."""

    def read(self, text: str, *, ended: bool) -> ValueT_co:
        """What a reply says.

        Args:
            text: as the model gave it.
            ended: whether it ended by itself or at a stop string, not for want of tokens or time.

        Raises:
            ReplyError: saying why it is not of the form.
            CallError: likewise, of a skill call.
        """


def check_length(text: str) -> None:
    """Refuses a text that is too long to be searched.

    Raises:
        ReplyError: where it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise ReplyError(f"the reply has {len(text)} characters, at most {MAX_CHARACTERS}")
