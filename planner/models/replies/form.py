"""The interface of reply forms, and replies as lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

from planner.models.gbnf import quoted
from planner.world.errors import PlannerError

ValueT_co = TypeVar("ValueT_co", covariant=True)
# Longer replies are rejected without a search: no requested form is that long.
MAX_CHARACTERS = 20_000


class ReplyError(PlannerError):
    """A reply that does not have the requested form; the text can be shown to the model."""


class ReplyForm(Protocol[ValueT_co]):
    """One form of reply: turns, dictionaries, lists or texts."""

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


# Replies as lists: one item per line, from a fixed set of words or as free text.

MAX_ITEM = 120
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\(?\d{1,3}[.):])\s+")
_LITERAL = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True)
class ListReply:
    """The form of one list; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        words: the allowed items; empty = any line of text.
        min_items, max_items: limits of their number.
    """

    words: tuple[str, ...] = ()
    min_items: int = 1
    max_items: int = 16
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the bounds."""
        if not 0 <= self.min_items <= self.max_items or self.max_items < 1:
            raise ValueError(f"a list of {self.min_items} to {self.max_items} items")

    @cached_property
    def grammar(self) -> str:
        """GBNF of lines `- item`; an empty list is `none`."""
        item = " | ".join(quoted(w) for w in self.words) or f"[^ \\n] [^\\n]{{0,{MAX_ITEM - 1}}}"
        max_more = self.max_items - 1
        min_more = max(self.min_items - 1, 0)
        lines = f'line ("\\n" line){{{min_more},{max_more}}}' if max_more else "line"
        root = lines if self.min_items else f'{lines} | "none"'
        return f'root ::= {root}\nline ::= "- " item\nitem ::= {item}\n'

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The items; bullets, numbers and Python list literals are accepted too.

        Raises:
            ReplyError: for too few or too many items, or an item that is not allowed.
        """
        check_length(text)
        items = _literal(text)
        if items is None:
            items = _lines(text if ended else text.rpartition("\n")[0])
        if self.words:
            usual = {word.casefold(): word for word in self.words}
            unknown = next((item for item in items if item.casefold() not in usual), None)
            if unknown is not None:
                raise ReplyError(f"{unknown[:MAX_ITEM]!r} is not one of the possible items")
            items = [usual[item.casefold()] for item in items]
        if not self.min_items <= len(items) <= self.max_items:
            raise ReplyError(
                f"expected {self.min_items} to {self.max_items} items, got {len(items)}"
            )
        return tuple(items)


def _literal(text: str) -> list[str] | None:
    """The items of `['a', 'b']`, as some papers' models reply; None if it is not such a literal."""
    found = _LITERAL.search(text)
    if found is None:
        return None
    try:
        value = ast.literal_eval(found[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if all(isinstance(item, str) for item in value) else None


def _lines(text: str) -> list[str]:
    lines: Sequence[str] = [line for line in text.splitlines() if line.strip()]
    # Models tend to put explanations around a bulleted list.
    marked = [line for line in lines if _BULLET.match(line)]
    items = [_BULLET.sub("", line, count=1).strip() for line in marked or lines]
    return [] if [item.casefold() for item in items] == ["none"] else items


# Replies in a model's own words, such as the description of a picture.


@dataclass(frozen=True)
class FreeText:
    """One paragraph; a `planner.models.replies.form.ReplyForm` without a grammar.

    Attributes:
        max_characters: longer ones are cut at a word, since prompts repeat them.
    """

    max_characters: int = 800
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    grammar: str = ""

    def read(self, text: str, *, ended: bool) -> str:
        """The words in one line; a reply that broke off ends with its last whole word.

        Raises:
            ReplyError: for a reply without words.
        """
        check_length(text)
        words = " ".join(text.split())
        if not ended or len(words) > self.max_characters:
            words = words[: self.max_characters + 1].rpartition(" ")[0]
        if not words:
            raise ReplyError("the reply has no words")
        return words
